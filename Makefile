# Every target is described after its name; `make` lists them.
#
#   KUBERNETES   version of the node image and so of the kubelet (v1.37.2); for
#                compare the versions of the kubelets ("v1.28.5 v1.37.2")
#   CASES        regular expression that selects cases by their path
#   ARTIFACTS    folder that everything is written to (artifacts)
#   FLAGS        further flags of the suite, for example FLAGS=-keep

GO ?= go
KUBERNETES ?=
CASES ?=
ARTIFACTS ?=
FLAGS ?=
# Patience for one run of the suite, the making of a node image included. The
# suite stops by itself, and cleans up, shortly before.
TIMEOUT ?= 50m
# The same for several kubelets, the building of those that are missing included.
COMPARE_TIMEOUT ?= 3h

# The suite needs a cluster; everything else is tested without one.
TESTED = $$($(GO) list ./... | grep -v '/suites$$')

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: conformance
# From within the folder, because only then does go test print while it runs.
# After -args, because go test has an -artifacts of its own.
conformance: ## run the suite on a real cluster, made for it (KUBERNETES, CASES, ARTIFACTS, FLAGS)
	$(GO) test -C suites -count=1 -timeout=$(TIMEOUT) \
		$(if $(KUBERNETES),-kubernetes=$(KUBERNETES)) $(if $(CASES),-cases='$(CASES)') $(FLAGS) \
		$(if $(ARTIFACTS),-args -artifacts='$(ARTIFACTS)')

.PHONY: compare
compare: ## run the suite on several kubelets in one cluster (KUBERNETES="v1.28.5 v1.37.2", CASES, ARTIFACTS, FLAGS)
	@test -n "$(KUBERNETES)" || { echo 'compare what? make compare KUBERNETES="v1.28.5 v1.37.2"' >&2; exit 2; }
	$(GO) test -C suites -count=1 -timeout=$(COMPARE_TIMEOUT) -kubelets='$(KUBERNETES)' \
		$(if $(CASES),-cases='$(CASES)') $(FLAGS) $(if $(ARTIFACTS),-args -artifacts='$(ARTIFACTS)')

.PHONY: track-record
track-record: ## run what shows known regressions, on kubelets with and without them (ARTIFACTS, FLAGS)
	$(GO) run ./scripts/track-record -artifacts='$(or $(ARTIFACTS),artifacts)' -- $(FLAGS)

.PHONY: test
test: lint ## run everything that needs no cluster
	$(GO) test $(TESTED)

.PHONY: lint
lint: ## check formatting, go vet, staticcheck and the workflows
	@unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then \
		echo "not formatted: $$unformatted; run: make fmt" >&2; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) tool actionlint

# What needs no cluster, and the suite on one that exists.
PORTABLE = ./scripts/podorder ./scripts/internal/... ./suites/... ./report/...

.PHONY: cross
cross: ## check that judge, explain, report, new-case and the suite compile for Linux and macOS, on amd64 and arm64
	@for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		export CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; echo $$platform; \
		$(GO) vet $(PORTABLE) && $(GO) build -o /dev/null ./scripts/podorder && $(GO) test -c -o /dev/null ./suites || exit 1; done

.PHONY: search
search: ## make runs of the executable kubelet, and find those that the model refuses (SEED=n, CHECKS=n, FAMILY=n, ODDITY=0 to 3, SAVE=folder)
	$(GO) test ./reference/kubelet/search -run OddRuns -v -count=1 -timeout 0 -args -from=$(or $(SEED),$(shell date +%s)0000) -runs=$(or $(CHECKS),50000) -family=$(or $(FAMILY),0) -oddity=$(or $(ODDITY),1) -save=$(abspath $(SAVE))

.PHONY: fmt
fmt: ## format every Go file
	gofmt -w .

.PHONY: update
update: ## write what is computed anew: the allowed orders of the cases (fixtures/*/*/allowed.txt), the picture of the README
	$(GO) test ./scripts/explain -count=1 -update
	$(GO) test ./scripts/internal/judge -count=1 -run FrontPage -update

.PHONY: list
list: ## list the cases that a run would run (KUBERNETES, CASES, FLAGS)
	@$(GO) test -C suites -count=1 $(if $(KUBERNETES),-kubernetes=$(KUBERNETES)) $(if $(CASES),-cases='$(CASES)') $(FLAGS) -args -list

.PHONY: upstream
upstream: ## compare the table of upstream tests with the sources of Kubernetes (KUBERNETES)
	$(GO) run ./scripts/upstream $(if $(KUBERNETES),-kubernetes=$(KUBERNETES))

.PHONY: bench
bench: ## run the benchmarks that need no cluster
	$(GO) test -run='^$$' -bench=. -benchmem ./reference/...

.PHONY: bench-cluster
bench-cluster: ## compare the creation of a cluster with the kind command line, five times in turn
	$(GO) test -run='^$$' -bench=Create -benchtime=1x -timeout=30m ./harness/cluster

.PHONY: node-image
node-image: ## get the node image of a version and print its reference (KUBERNETES)
	$(GO) run ./scripts/node-image $(if $(KUBERNETES),-kubernetes=$(KUBERNETES))

.PHONY: preflight
preflight: ## print what was found of a container runtime, and what is too small
	$(GO) run ./scripts/preflight

.PHONY: sweep
sweep: ## remove what a killed run left behind
	$(GO) run ./scripts/sweep

.PHONY: clean
clean: ## remove what runs of the suite have written (artifacts/)
	rm -rf artifacts

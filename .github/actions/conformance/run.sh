#!/usr/bin/env bash
# Runs the suite as the variables PODORDER_… say, which are the inputs of action.yaml, and writes its outputs to
# the file that GITHUB_OUTPUT names, however the run ends. Paths start at PODORDER_FROM, else at GITHUB_WORKSPACE, else
# here.
set -euo pipefail
from=${PODORDER_FROM:-${GITHUB_WORKSPACE:-$PWD}}
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# absolute prints the path of a file or folder of the caller.
absolute() {
	case $1 in
	/*) printf '%s' "$1" ;;
	*) printf '%s/%s' "$from" "$1" ;;
	esac
}

flags=()
add() {
	if [[ -n $2 ]]; then
		flags+=("-$1=$2")
	fi
}
add kubernetes "${PODORDER_KUBERNETES:-}"
add kubelets "${PODORDER_KUBELETS:-}"
if [[ -n ${PODORDER_KUBECONFIG:-} ]]; then
	add kubeconfig "$(absolute "$PODORDER_KUBECONFIG")"
fi
add cases "${PODORDER_CASES:-}"
folders=()
IFS=, read -ra named <<<"${PODORDER_FIXTURES:-}"
for one in ${named[@]+"${named[@]}"}; do # bash 3.2 of macOS takes an empty list for one that is not set
	if [[ $one == built-in ]]; then
		folders+=("$one")
	else
		folders+=("$(absolute "$one")")
	fi
done
add fixtures "$(IFS=,; printf '%s' "${folders[*]-}")"
add shard "${PODORDER_SHARD:-}"
case ${PODORDER_STRICT:-false} in
true) flags+=(-strict) ;;
false) ;;
*)
	echo "podorder: strict is true or false, not \"$PODORDER_STRICT\"" >&2
	exit 2
	;;
esac
case ${PODORDER_SUMMARY:-true} in
true) ;;
false) unset GITHUB_STEP_SUMMARY ;;
*)
	echo "podorder: summary is true or false, not \"$PODORDER_SUMMARY\"" >&2
	exit 2
	;;
esac
read -ra more <<<"${PODORDER_FLAGS:-}"
flags+=(${more[@]+"${more[@]}"})
artifacts=$(absolute "${PODORDER_ARTIFACTS:-artifacts}")

status=0
go test -C suites -count=1 "-timeout=${PODORDER_TIMEOUT:-50m}" ${flags[@]+"${flags[@]}"} -args "-artifacts=$artifacts" || status=$?

report=$artifacts/report.html
if [[ ! -f $report ]]; then
	report=$artifacts/report.json
fi
name=podorder
for part in "${PODORDER_KUBERNETES:-}" "${PODORDER_KUBELETS:-}" "${PODORDER_SHARD:+shard-$PODORDER_SHARD}"; do
	name+=${part:+-$part}
done
{
	printf 'junit=%s\n' "$artifacts/junit.xml"
	printf 'summary=%s\n' "$artifacts/summary.md"
	printf 'report=%s\n' "$report"
	printf 'artifacts=%s\n' "$artifacts"
	printf 'name=%s\n' "${name//[^A-Za-z0-9.-]/-}"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"

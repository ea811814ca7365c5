package layout

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of the module whose packages are judged.
const Module = "github.com/podorder/podorder"

// Package is one package as `go list -json` prints it, with the fields that
// the rules read.
type Package struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	CgoFiles     []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// part is a rule for the packages below one path of the module.
type part struct {
	// under is the path below the module; the longest that fits a package
	// holds for it.
	under string
	// may lists what the code of the part may import beside itself: a path of
	// the module or of another module, each with all that lies below it.
	may []string
	// mayTest lists what of the module its tests may import in addition. They
	// may import any other module: nothing rests on them.
	mayTest []string
	// anything lifts the limits on other modules and on the standard library.
	anything bool
	// neverStd lists standard packages, each with all below it, that the code
	// may not import.
	neverStd []string
}

var (
	// types is what a Pod and its manifest are made of.
	types = []string{"k8s.io/api", "k8s.io/apimachinery"}
	// impure would let a model read a file, ask the network or print: it would
	// no longer be a function of what it was given.
	impure = []string{"os", "net", "log", "testing", "syscall", "math/rand", "plugin", "unsafe"}
)

// floors are the lowest n packages of the model, with what a Pod is made of.
func floors(n int) []string {
	all := []string{"trace", "rules", "internal/podspec", "internal/record", "internal/model"}
	may := slices.Clone(types)
	for _, floor := range all[:n] {
		may = append(may, Module+"/reference/"+floor)
	}
	return may
}

var parts = []part{
	{
		under:    "reference",
		may:      append(floors(5), Module+"/reference/internal/judge", Module+"/reference/manifest"),
		mayTest:  []string{Module + "/fixtures", Module + "/reference/kubelet"},
		neverStd: impure,
	},
	{
		// The floors of the model, from the ground up: each may import those that are named
		// before it, and none above.
		under:    "reference/trace",
		may:      types,
		neverStd: impure,
	},
	{
		under:    "reference/rules",
		may:      floors(1),
		neverStd: impure,
	},
	{
		under:    "reference/internal/podspec",
		may:      floors(2),
		neverStd: impure,
	},
	{
		under:    "reference/internal/record",
		may:      floors(3),
		neverStd: impure,
	},
	{
		under:    "reference/internal/model",
		may:      floors(4),
		neverStd: impure,
	},
	{
		under:    "reference/internal/judge",
		may:      floors(5),
		mayTest:  []string{Module + "/reference"},
		neverStd: impure,
	},
	{
		// The executable kubelet is what the model is held against, so neither
		// may take anything from the other. Their tests bring them together.
		under:    "reference/kubelet",
		may:      slices.Concat(types, []string{Module + "/reference/trace"}),
		mayTest:  []string{Module + "/reference"},
		neverStd: impure,
	},
	{
		// What explores and searches it stands above it.
		under:    "reference/kubelet/explore",
		may:      slices.Concat(types, []string{Module + "/reference/trace", Module + "/reference/kubelet"}),
		neverStd: impure,
	},
	{
		under:    "reference/kubelet/search",
		may:      slices.Concat(types, []string{Module + "/reference/trace", Module + "/reference/kubelet"}),
		mayTest:  []string{Module + "/reference"},
		neverStd: impure,
	},
	{
		// Reading what people write takes the libraries that the API server reads it with.
		under:    "reference/manifest",
		may:      slices.Concat(types, []string{"sigs.k8s.io/yaml", "sigs.k8s.io/json"}),
		neverStd: impure,
	},
	{
		under:    "fixtures",
		may:      []string{Module + "/reference/trace", Module + "/reference/manifest"},
		anything: true,
	},
	{
		under: "fixtures/recorder",
		// The program of the recorder image: small, static, and free of
		// anything that would have to be trusted.
		may:     []string{"golang.org/x/sys"},
		mayTest: []string{Module + "/reference/trace", Module + "/fixtures"},
	},
	{
		under:    "harness",
		may:      []string{Module + "/reference/trace", Module + "/fixtures"},
		anything: true,
	},
	{
		// What came of a run: it is judged and written down without a cluster, by those who
		// run the suite and by those who did not.
		under:    "report",
		may:      []string{Module + "/reference", Module + "/fixtures", Module + "/suites/claims", Module + "/report"},
		anything: true,
	},
	{
		// What a recording shows follows from the recording alone.
		under:    "report/observed",
		may:      append(slices.Clone(types), Module+"/reference"),
		mayTest:  []string{Module + "/fixtures"},
		neverStd: impure,
	},
	{
		// So does its picture, with the verdict on it.
		under:    "report/picture",
		may:      append(slices.Clone(types), Module+"/reference"),
		neverStd: impure,
	},
	{
		under:    "suites",
		may:      []string{Module},
		anything: true,
	},
	{
		under:    "scripts",
		may:      []string{Module},
		anything: true,
	},
}

// Imports returns one sentence for every import that the rules forbid, in the
// order of the packages.
func Imports(pkgs []Package) []string {
	var found []string
	for _, p := range pkgs {
		rule, ok := partOf(p.ImportPath)
		if !ok {
			found = append(found, fmt.Sprintf("%s is not in a part of the module; the parts are suites, fixtures, harness, reference, report and scripts", p.ImportPath))
			continue
		}
		for _, path := range p.Imports {
			if !rule.allows(p.ImportPath, path, false) {
				found = append(found, fmt.Sprintf("%s imports %s, which %s may not", p.ImportPath, path, rule.under))
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if !rule.allows(p.ImportPath, path, true) {
				found = append(found, fmt.Sprintf("a test of %s imports %s, which %s may not", p.ImportPath, path, rule.under))
			}
		}
	}
	return found
}

func partOf(path string) (part, bool) {
	var best part
	found := false
	for _, p := range parts {
		if below(path, Module+"/"+p.under) && (!found || len(p.under) > len(best.under)) {
			best, found = p, true
		}
	}
	return best, found
}

func (p part) allows(from, path string, inTest bool) bool {
	if below(path, Module+"/"+p.under) {
		// Within the part, except into a smaller part with rules of its own:
		// that one has to be named.
		if to, _ := partOf(path); to.under == p.under {
			return true
		}
	}
	allowed := p.may
	if inTest {
		allowed = slices.Concat(p.may, p.mayTest)
	}
	for _, root := range allowed {
		if below(path, root) {
			return true
		}
	}
	switch {
	case below(path, Module):
		return false
	case inTest:
		return true
	case standard(path):
		for _, root := range p.neverStd {
			if below(path, root) {
				return false
			}
		}
		return true
	}
	return p.anything
}

// below reports whether path is root or lies under it.
func below(path, root string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// standard reports whether the path is one of the standard library: those have
// no dot in their first element.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// clock lists what of package time reads the clock or waits for it.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// Purity returns one sentence, with its position, for every place of a file
// that starts a goroutine or asks for the time. Both would make a verdict
// depend on more than the trace.
func Purity(fset *token.FileSet, file *ast.File) []string {
	name := ""
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != "time" {
			continue
		}
		name = "time"
		if spec.Name != nil {
			name = spec.Name.Name
		}
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, fmt.Sprintf("%s: starts a goroutine", fset.Position(n.Pos())))
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && name != "" && id.Name == name && slices.Contains(clock, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: asks for the time with time.%s", fset.Position(n.Pos()), n.Sel.Name))
			}
		}
		return true
	})
	return found
}

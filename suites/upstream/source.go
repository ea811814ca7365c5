package upstream

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// Tests returns the names of the tests of a Go file in their order, as Ginkgo makes
// them. A text that is no constant of the file, because a loop or a parameter makes it,
// stands as its expression in braces, and so does the function that a test stands in, if
// that is not called where it is declared.
func Tests(file string, src []byte) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the tests of %s: %w", file, err)
	}
	v := visitor{fset: fset}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			v.visit(fn, []string{"{" + fn.Name.Name + "}"})
			continue
		}
		v.visit(d, nil)
	}
	if v.err != nil {
		return nil, fmt.Errorf("read the tests of %s: %w", file, v.err)
	}
	return v.names, nil
}

// The functions of Ginkgo and of Kubernetes' framework that make tests, and those that tests
// stand in. Each also comes with P, X and F in front: pending, left out, focused.
var (
	makers     = []string{"It", "ConformanceIt", "Specify", "Entry"}
	containers = []string{"Describe", "SIGDescribe", "Context", "When", "DescribeTable"}
	subtrees   = []string{"DescribeTableSubtree"}
)

type visitor struct {
	fset  *token.FileSet
	names []string
	err   error
}

// visit looks for tests below a node.
func (v *visitor) visit(n ast.Node, chain []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || v.err != nil {
			return v.err == nil
		}
		name := callee(call)
		switch {
		case oneOf(name, makers):
			args := call.Args
			if oneOf(name, []string{"Entry"}) {
				args = args[:min(1, len(args))] // after it are parameters
			} else if len(args) > 1 {
				args = args[:len(args)-1] // the last one is the body
			}
			if text := v.text(args); text != "" {
				v.add(call, slices.Concat(chain, []string{text}))
				return false
			}
		case oneOf(name, subtrees):
			v.fail(call, "a %s has tests that its entries multiply, which is not understood", name)
			return false
		case oneOf(name, containers) && slices.ContainsFunc(call.Args, isFunc):
			inner := chain
			if text := v.text(call.Args); text != "" {
				inner = slices.Concat(chain, []string{text})
			}
			for _, a := range call.Args {
				v.visit(a, inner)
			}
			return false
		}
		return true
	})
}

func (v *visitor) add(n ast.Node, name []string) {
	for _, s := range name {
		if strings.Contains(s, Separator) || strings.ContainsAny(s, "\n\r") || s != strings.TrimSpace(s) {
			v.fail(n, "the text %q cannot be written in the table", s)
		}
	}
	v.names = append(v.names, strings.Join(name, Separator))
}

func (v *visitor) fail(n ast.Node, format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("%s: %s", v.fset.Position(n.Pos()), fmt.Sprintf(format, args...))
	}
}

// callee is the name of the function that is called, without what it is called on.
func callee(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// oneOf reports whether a function is one of several, or its pending, left out or focused form.
func oneOf(name string, of []string) bool {
	return slices.ContainsFunc(of, func(s string) bool {
		return name == s || len(name) == len(s)+1 && strings.HasSuffix(name, s) && strings.ContainsRune("PXF", rune(name[0]))
	})
}

func isFunc(e ast.Expr) bool {
	_, ok := e.(*ast.FuncLit)
	return ok
}

// text joins the texts among arguments, of which the others are labels and bodies.
func (v *visitor) text(args []ast.Expr) string {
	var out []string
	for _, a := range args {
		if s, ok := v.constant(a); ok && s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

// constant is the text of an argument, or its expression in braces if it is one that
// makes a text. It is neither where it is a label (framework.WithSerial(), feature.X) or a body.
func (v *visitor) constant(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, isText := v.constant(e.X)
		y, isTextToo := v.constant(e.Y)
		if !isText || !isTextToo {
			return v.braced(e), true
		}
		return x + y, true
	case *ast.Ident:
		return v.braced(e), true
	case *ast.SelectorExpr:
		x, isName := e.X.(*ast.Ident)
		return v.braced(e), isName && x.Name != "feature" && x.Name != "ginkgo" && x.Name != "framework"
	case *ast.CallExpr:
		f, isMethod := e.Fun.(*ast.SelectorExpr)
		return v.braced(e), isMethod && f.Sel.Name == "Sprintf"
	}
	return "", false
}

func (v *visitor) braced(e ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, v.fset, e); err != nil {
		v.fail(e, "print an expression: %v", err)
	}
	return "{" + strings.Join(strings.Fields(b.String()), " ") + "}"
}

package report

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/podorder/podorder/report/observed"
)

const schemaFile = "schema.json"

// TestSchema: schema.json is what the types say, with their comments, so that it cannot fall
// behind them. -update writes it.
func TestSchema(t *testing.T) {
	w := &schemaWriter{t: t, packages: map[string]*packageOf{
		"report":    parsed(t, "."),
		"observed":  parsed(t, "observed"),
		"claims":    parsed(t, filepath.Join("..", "suites", "claims")),
		"reference": parsed(t, filepath.Join("..", "reference")),
	}, defs: map[string]any{}}
	root := w.structure("report", "Report")
	root["properties"].(map[string]any)["report"].(map[string]any)["const"] = Version
	for key, value := range map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "report.json of podorder, version 1",
		"$defs":   w.defs,
	} {
		root[key] = value
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	assert.NilError(t, e.Encode(root))
	if golden.FlagUpdate() {
		assert.NilError(t, os.WriteFile(schemaFile, b.Bytes(), 0o644))
	}
	is, err := os.ReadFile(schemaFile)
	assert.NilError(t, err)
	assert.Equal(t, string(is), b.String(), "the types have changed: go test ./report -run TestSchema -update")
}

// TestSchemaOfWhatIsWritten: what is written is valid, and what is not a report is not.
func TestSchemaOfWhatIsWritten(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	assert.NilError(t, err)
	r, folder := example(t)
	rec, err := r.Runs[0].Load(folder)
	assert.NilError(t, err)
	b := observed.Of(rec.Pod, rec.Trace)
	r.Runs[0].Observed = &b
	r.Differences = []observed.Difference{{Case: "a/b", Older: "v1.36.3", Newer: "v1.37.2", Kind: observed.Order, State: observed.Expected, Because: &observed.Cause{Says: "so"}}}
	valid := func(r *Report) error {
		text, err := r.JSON()
		assert.NilError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		assert.NilError(t, err)
		return schema.Validate(value)
	}
	assert.NilError(t, valid(r))
	assert.NilError(t, valid(of(every()...)))
	r.Runs[0].Outcome = "odd"
	assert.ErrorContains(t, valid(r), "/runs/0/outcome")
	r, _ = example(t)
	r.Version = 2
	assert.ErrorContains(t, valid(r), "/report")
}

// packageOf are the types and constants of a package.
type packageOf struct {
	types  map[string]*ast.TypeSpec
	docs   map[string]string
	values map[string][]string // of the constants of a type of strings
}

func parsed(t *testing.T, dir string) *packageOf {
	t.Helper()
	p := &packageOf{map[string]*ast.TypeSpec{}, map[string]string{}, map[string][]string{}}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	assert.NilError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		assert.NilError(t, err)
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					p.types[s.Name.Name] = s
					p.docs[s.Name.Name] = sentence(g.Doc, s.Doc)
				case *ast.ValueSpec:
					if of, ok := s.Type.(*ast.Ident); ok && len(s.Values) == 1 {
						if lit, ok := s.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
							value, err := strconv.Unquote(lit.Value)
							assert.NilError(t, err)
							p.values[of.Name] = append(p.values[of.Name], value)
						}
					}
				}
			}
		}
	}
	return p
}

// sentence is what the first comment that there is says, in one line.
func sentence(groups ...*ast.CommentGroup) string {
	for _, g := range groups {
		if g != nil {
			return strings.Join(strings.Fields(g.Text()), " ")
		}
	}
	return ""
}

type schemaWriter struct {
	t        *testing.T
	packages map[string]*packageOf
	defs     map[string]any
}

// written says of types that are not written as they are declared, how they are.
var written = map[string]string{"reference.Verdict": "verdictJSON"}

// reference returns a reference to a type, which it defines.
func (w *schemaWriter) reference(pkg, name string) map[string]any {
	key := pkg + "." + name
	ref := map[string]any{"$ref": "#/$defs/" + key}
	if _, ok := w.defs[key]; ok {
		return ref
	}
	w.defs[key] = nil // so that it may hold itself
	p := w.packages[pkg]
	spec := p.types[name]
	assert.Assert(w.t, spec != nil, "no type %s", key)
	if as, ok := written[key]; ok {
		def := w.structure(pkg, as)
		def["description"] = p.docs[name]
		w.defs[key] = def
		return ref
	}
	if _, ok := spec.Type.(*ast.StructType); ok {
		w.defs[key] = w.structure(pkg, name)
		return ref
	}
	values := p.values[name]
	if key == "claims.Finding" {
		values = []string{"not seen", "held", "did not hold"}
	}
	assert.Assert(w.t, len(values) > 0, "%s is neither a struct nor one of some words", key)
	w.defs[key] = map[string]any{"type": "string", "enum": values, "description": p.docs[name]}
	return ref
}

// structure describes a struct. Only what is always written is required; further fields are
// allowed, since a version may get some.
func (w *schemaWriter) structure(pkg, name string) map[string]any {
	p := w.packages[pkg]
	properties := map[string]any{}
	required := []string{}
	for _, f := range p.types[name].Type.(*ast.StructType).Fields.List {
		assert.Assert(w.t, f.Tag != nil, "%s.%s has a field without a tag", pkg, name)
		text, err := strconv.Unquote(f.Tag.Value)
		assert.NilError(w.t, err)
		tag := reflect.StructTag(text).Get("json")
		key, options, _ := strings.Cut(tag, ",")
		if key == "-" {
			continue
		}
		s := w.of(pkg, f.Type)
		if doc := sentence(f.Doc, f.Comment); doc != "" {
			s["description"] = doc
		}
		if options == "" {
			required = append(required, key)
			if _, list := f.Type.(*ast.ArrayType); list {
				s["type"] = []string{"array", "null"}
			}
		}
		if pkg == "report" && name == "Run" && key == "outcome" {
			s["enum"] = severity
		}
		properties[key] = s
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required}
	if doc := p.docs[name]; doc != "" {
		out["description"] = doc
	}
	return out
}

// of describes a type.
func (w *schemaWriter) of(pkg string, e ast.Expr) map[string]any {
	switch e := e.(type) {
	case *ast.StarExpr:
		return w.of(pkg, e.X)
	case *ast.ArrayType:
		return map[string]any{"type": "array", "items": w.of(pkg, e.Elt)}
	case *ast.MapType:
		return map[string]any{"type": "object", "additionalProperties": w.of(pkg, e.Value)}
	case *ast.SelectorExpr:
		from := e.X.(*ast.Ident).Name
		if from == "time" && e.Sel.Name == "Time" {
			return map[string]any{"type": "string", "format": "date-time"}
		}
		return w.reference(from, e.Sel.Name)
	case *ast.Ident:
		switch e.Name {
		case "string":
			return map[string]any{"type": "string"}
		case "bool":
			return map[string]any{"type": "boolean"}
		case "int":
			return map[string]any{"type": "integer"}
		case "float64":
			return map[string]any{"type": "number"}
		}
		return w.reference(pkg, e.Name)
	}
	w.t.Fatalf("what is %T?", e)
	return nil
}

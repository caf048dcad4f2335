package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of packages and types, tests apart. A newcomer reads a package of this size in a day.
const (
	maxFiles   = 32
	maxLines   = 5000
	maxMethods = 25
)

// wideTypes may have more methods than maxMethods: each is a value, or the context of one call, and owns no state that
// outlives the call.
var wideTypes = map[string]string{
	"query/bind.binder":      "one statement while it is bound, with a method for each kind of expression",
	"query/jsonpath/run.Run": "one evaluation of a path, with a method for each kind of step",
	"query/plan.planning":    "one statement while it is planned",
	"query/regex.machine":    "one match of a pattern",
	"query/regex.parser":     "one pattern while it is parsed, with a method for each rule of the grammar",
	"query/sql/parse.parser": "one statement while it is parsed, with a method for each rule of the grammar",
	"query/types.Decimal":    "a value, with a method for each operation of numeric",
}

// size is what Oversized counts in a package.
type size struct {
	files, lines int
	methods      map[string]int // by type
}

// Oversized returns a sentence for each package with too many files or lines, and for each type with too many methods.
func Oversized(root string, files []File) ([]string, error) {
	sizes := map[string]*size{}
	for _, f := range files {
		if f.Test() {
			continue
		}
		s := sizes[f.Package()]
		if s == nil {
			s = &size{methods: map[string]int{}}
			sizes[f.Package()] = s
		}
		if err := s.add(filepath.Join(root, f.Name)); err != nil {
			return nil, err
		}
	}
	var faults []string
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		faults = append(faults, sizes[folder].faults(folder)...)
	}
	return faults, nil
}

func (s *size) add(file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("house: %w", err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("house: %w", err)
	}
	s.files++
	s.lines += strings.Count(string(source), "\n")
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			s.methods[receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// receiver returns the name of a receiver's type, without pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func (s *size) faults(folder string) (list []string) {
	if s.files > maxFiles {
		list = append(list, fmt.Sprintf("%s has %d files, more than %d", folder, s.files, maxFiles))
	}
	if s.lines > maxLines {
		list = append(list, fmt.Sprintf("%s has %d lines, more than %d", folder, s.lines, maxLines))
	}
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		if n := s.methods[name]; n > maxMethods && wideTypes[folder+"."+name] == "" {
			list = append(list, fmt.Sprintf("%s.%s has %d methods, more than %d", folder, name, n, maxMethods))
		}
	}
	return list
}

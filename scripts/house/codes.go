package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrorsPage lists the names of errors over HTTP and the SQLSTATEs.
const ErrorsPage = "docs/errors.md"

// errorRooms are where errors over HTTP get their names.
var errorRooms = []string{"layer/", "node/api/", "node/auth/", "query/mango/", "node/backup.go"}

// namers are functions whose argument of this number, from 0, is the name of an error, and mangoNamers those of package
// query/mango.
var (
	namers      = map[string]int{"Errf": 1, "tooManyDocs": 0, "functionResult": 2}
	mangoNamers = map[string]int{"refuse": 0, "fail": 0}
)

// insideOnly are names that no client sees: the layer's callers handle them.
var insideOnly = []string{"import_abandoned", "job_lost", "export_of_another"}

// ErrorNames returns the names of errors in the code, sorted.
func ErrorNames(root string, files []File) ([]string, error) {
	names := map[string]bool{}
	for _, f := range files {
		inRoom := func(room string) bool { return strings.HasPrefix(f.Name, room) }
		// The errors of layer/reduce have names of functions.
		if f.Test() || !slices.ContainsFunc(errorRooms, inRoom) || inRoom("layer/reduce/") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f.Name), nil, 0)
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				addName(names, errorName(n))
			case *ast.CallExpr:
				at, ok := namers[lastName(n.Fun)]
				if !ok && strings.HasPrefix(f.Name, "query/mango/") {
					at, ok = mangoNamers[lastName(n.Fun)]
				}
				if ok && at < len(n.Args) {
					addName(names, n.Args[at])
				}
			}
			return true
		})
	}
	for _, name := range insideOnly {
		delete(names, name)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// errorName returns the expression of the name in Fault{Name: ...}, Error{Name: ...}, Error{name, reason} or, in a map
// of them, {Status: ..., Name: ...}; or nil.
func errorName(lit *ast.CompositeLit) (name ast.Expr) {
	typ := lastName(lit.Type)
	isError := typ == "Fault" || typ == "Error"
	for _, e := range lit.Elts {
		pair, keyed := e.(*ast.KeyValueExpr)
		if !keyed {
			if typ == "Error" && len(lit.Elts) == 2 {
				return lit.Elts[0]
			}
			return nil
		}
		switch lastName(pair.Key) {
		case "Name":
			name = pair.Value
		case "Status":
			isError = isError || typ == ""
		}
	}
	if !isError {
		return nil
	}
	return name
}

// addName adds the name that an expression spells, unless it is computed or no name.
func addName(names map[string]bool, e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	if name, err := strconv.Unquote(lit.Value); err == nil && name != "" {
		names[name] = true
	}
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// sqlCode matches a constant of query/sqlstate.
var sqlCode = regexp.MustCompile(`(?m)^\s+[A-Z]\w+\s+Code = "([0-9A-Z]{5})"$`)

// SQLCodes returns the codes in the text of query/sqlstate.
func SQLCodes(text string) (codes []string) {
	for _, found := range sqlCode.FindAllStringSubmatch(text, -1) {
		codes = append(codes, found[1])
	}
	return codes
}

// codeLiteral matches the literal of an SQLSTATE. Other texts of five digits and capitals do not begin with a digit.
var codeLiteral = regexp.MustCompile(`"[0-9][0-9A-Z]{4}"`)

// CodeLiterals returns a sentence for each SQLSTATE in the code of the SQL gateway that is not a constant of
// query/sqlstate, since UnlistedCodes only knows those.
func CodeLiterals(name, text string) (faults []string) {
	if !strings.HasPrefix(name, "query/") && !strings.HasPrefix(name, "node/sqlreads/") ||
		strings.HasPrefix(name, "query/sqlstate/") || strings.HasSuffix(name, "_test.go") {
		return nil
	}
	for _, found := range codeLiteral.FindAllString(text, -1) {
		faults = append(faults, fmt.Sprintf("%s: %s is no constant of query/sqlstate", name, found))
	}
	return faults
}

// UnlistedCodes compares codes with the rows below a heading of ErrorsPage, and returns a sentence for each that lacks
// a counterpart. A row begins with one or more codes in back quotes.
func UnlistedCodes(codes []string, page, heading string) (faults []string) {
	_, section, _ := strings.Cut(page, "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		if !isRow || !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, code := range codeSpan.FindAllString(first, -1) {
			listed[strings.Trim(code, "`")] = true
		}
	}
	for _, code := range codes {
		if !listed[code] {
			faults = append(faults, fmt.Sprintf("%s, %q, has no row for %s", ErrorsPage, heading, code))
		}
		delete(listed, code)
	}
	for _, code := range slices.Sorted(maps.Keys(listed)) {
		faults = append(faults, fmt.Sprintf("%s, %q, has a row for %s, which no code has", ErrorsPage, heading, code))
	}
	return faults
}

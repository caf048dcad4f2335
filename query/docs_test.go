package query_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "github.com/divandb/divan/query/catalog" // has functions too
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// TestDocumentation checks that the list of functions in docs/sql.md is the list that statements are bound to. -update
// writes it.
func TestDocumentation(t *testing.T) {
	const (
		file  = "../docs/sql.md"
		begin = "<!-- The list of functions, written by go test ./query -run Documentation -update -->\n"
		end   = "<!-- End of the list of functions -->\n"
	)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the list of functions", file)
	}
	want := head + begin + functionList() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s does not list the functions there are; write it with -update", file)
	}
}

// functionList returns a table for each family.
func functionList() string {
	var b strings.Builder
	for _, f := range funcs.Families {
		fmt.Fprintf(&b, "\n### %s\n\nPostgreSQL's manual: %s.\n\n| name | arguments and result |\n|---|---|\n",
			f.Title, f.Section)
		rows := map[string][]string{}
		var names []string
		add := func(name, signature string) {
			if rows[name] == nil {
				names = append(names, name)
			}
			if !slices.Contains(rows[name], signature) {
				rows[name] = append(rows[name], signature)
			}
		}
		for _, fn := range f.Operators {
			add(fn.Name, operands(fn)+" → "+returns(fn.Ret))
		}
		for _, fn := range f.Functions {
			s := "(" + typeNames(fn.Args, fn.Variadic) + ") → " + returns(fn.Ret)
			if fn.Volatility == exec.Volatile {
				s += ", volatile"
			}
			add(fn.Name, s)
		}
		for _, fn := range f.Tables {
			add(fn.Name, "("+typeNames(fn.Args, fn.Variadic)+") → rows")
		}
		for _, a := range f.Aggregates {
			s := ") → " + returns(a.Ret) + ", aggregate"
			switch {
			case a.Hypothetical:
				s = "any, …) WITHIN GROUP (ORDER BY any, …" + s
			case a.Ordered:
				n := len(a.Args) - 1
				s = typeNames(a.Args[:n], false) + ") WITHIN GROUP (ORDER BY " + typeName(a.Args[n]) + s
			default:
				s = typeNames(a.Args, false) + s
			}
			add(a.Name, "("+s)
		}
		for _, w := range f.Windows {
			add(w.Name, "("+typeNames(w.Args, false)+") → "+typeName(w.Ret))
		}
		slices.Sort(names)
		for _, n := range names {
			slices.Sort(rows[n])
			fmt.Fprintf(&b, "| `%s` | %s |\n", strings.ReplaceAll(n, "|", "\\|"), strings.Join(rows[n], "<br>"))
		}
	}
	return b.String() + "\n"
}

func operands(fn *exec.Func) string {
	if len(fn.Args) == 1 {
		return typeName(fn.Args[0])
	}
	names := make([]string, len(fn.Args))
	for i, a := range fn.Args {
		names[i] = typeName(a)
	}
	return strings.Join(names, ", ")
}

func typeNames(args []types.OID, variadic bool) string {
	var names []string
	for _, a := range args {
		names = append(names, typeName(a))
	}
	if variadic {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// returns names the type of a result, or says that it depends on the arguments.
func returns(t types.OID) string {
	if t == 0 {
		return "by the arguments"
	}
	return typeName(t)
}

func typeName(t types.OID) string {
	switch t {
	case exec.AnyElement:
		return "anyelement"
	case exec.AnyValue:
		return "any"
	}
	return cmp.Or(types.NameOf(t), "unknown")
}

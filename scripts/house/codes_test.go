package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// docs/errors.md has all names of errors over HTTP and all SQLSTATEs, and no others.
func TestTree_Codes(t *testing.T) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, house.ErrorsPage))
	if err != nil {
		t.Fatal(err)
	}
	names, err := house.ErrorNames(root, files)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "query", "sqlstate", "sqlstate.go"))
	if err != nil {
		t.Fatal(err)
	}
	codes := house.SQLCodes(string(text))
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range house.CodeLiterals(f.Name, string(text)) {
			t.Error(fault)
		}
	}
	if len(names) < 50 || len(codes) < 60 {
		t.Fatalf("found %d names and %d codes: this is not the tree", len(names), len(codes))
	}
	for _, fault := range slices.Concat(house.UnlistedCodes(names, string(page), "Over HTTP"),
		house.UnlistedCodes(codes, string(page), "Over SQL")) {
		t.Error(fault)
	}
}

func TestCodeLiterals(t *testing.T) {
	text := `sqlstate.New("22008", "out of range"); _ = []string{"24h", "12345678", "40P01"}`
	if faults := house.CodeLiterals("query/a.go", text); len(faults) != 2 || !strings.Contains(faults[1], `"40P01"`) {
		t.Errorf("got %q", faults)
	}
	for _, name := range []string{"query/a_test.go", "query/sqlstate/sqlstate.go", "node/api/a.go"} {
		if faults := house.CodeLiterals(name, text); faults != nil {
			t.Errorf("%s: %q", name, faults)
		}
	}
}

func TestErrorNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "node/api/a.go"), "package a\n\n"+
		"var a = &Fault{Status: 400, Name: \"one\"}\n"+
		"var b = map[int]Fault{1: {Status: 400, Name: \"two\"}, 2: {Name: \"of no error\"}}\n"+
		"var c = fault.Errf(kind, \"three\", \"text\")\n"+
		"var d = &selector.Error{\"four\", \"text\"}\n"+
		"var e = layer.Error{Kind: k, Name: \"five\"}\n"+
		"var f = Other{Name: \"of no error\"}\nvar h = &Fault{Name: x}\n"+
		"var i = fault.Errf(kind, \"\", \"text\")\n")
	write(t, filepath.Join(dir, "query/mango/a.go"), "package a\n\nvar a = refuse(\"six\", \"text\")\n")
	write(t, filepath.Join(dir, "layer/a.go"), "package a\n\nvar a = refuse(\"of no error\", \"text\")\n")
	write(t, filepath.Join(dir, "cluster/b.go"), "package b\n\nvar a = &Fault{Name: \"elsewhere\"}\n")
	files, err := house.ReadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := house.ErrorNames(dir, files)
	if want := []string{"five", "four", "one", "six", "three", "two"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %q, %v", names, err)
	}
	page := "\n## Over HTTP\n\n| a | b |\n|---|---|\n| `one`, `two` | `not this` |\n| `three` | |\n## Next\n| `four` | |\n"
	faults := house.UnlistedCodes([]string{"one", "two", "four"}, page, "Over HTTP")
	if len(faults) != 2 || !strings.Contains(faults[0], "no row for four") ||
		!strings.Contains(faults[1], "row for three") {
		t.Errorf("got %q", faults)
	}
}

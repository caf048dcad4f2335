package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// readProse reads the prose of the tree except for this package's own, whose tests cite things that do not exist.
func readProse(t *testing.T) []house.Prose {
	prose, err := house.ReadProse(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(prose) < 200 {
		t.Fatalf("read %d files: this is not the tree", len(prose))
	}
	return slices.DeleteFunc(prose, func(p house.Prose) bool { return strings.HasPrefix(p.Name, "scripts/house/") })
}

func readPage(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Clauses and documents that are cited are in docs. Tests and metrics that are named exist.
func TestTree_References(t *testing.T) {
	prose, clauses := readProse(t), readPage(t, house.ClausesPage)
	for _, fault := range house.Citations(prose, clauses) {
		t.Error(fault)
	}
	for _, fault := range house.Documents(root, prose) {
		t.Error(fault)
	}
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := house.Tests(root, files, clauses)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := house.Metrics(root, files, prose)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range slices.Concat(tests, metrics) {
		t.Error(fault)
	}
	if without := house.Citations(prose, ""); len(without) < 100 {
		t.Errorf("without clauses %d citations are faults: this is not the tree", len(without))
	}
}

// The checks themselves, on a made-up tree.
func TestReferences(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/clauses.md": "**R1** A clause.\nTests: `TestThere`, `TestGone`.\n[rfc-001]: https://example.com/001.md\n",
		"docs/sql.md":     "See [clauses](clauses.md) and docs/http.md, divan_there, divan_there_ and divan_gone.\n",
		"layer/a.go": "package a\n\n// R1 and R2 (rfc-001, rfc-002; docs/sql.md, layer/a.go, layer/gone.go).\nvar _ " +
			"= \"R3\" // CONTRACT.md, issue 4\n" +
			"/* R4,\nR5 */\n",
		"layer/b.go":           "package a\n\nvar _ = \"divan_there_total\"\n",
		"layer/a_test.go":      "package a\n\nfunc TestThere(t *testing.T) {}\n",
		"layer/testdata/b.txt": "# P1\nPUT /P2\n",
		"node.yaml":            "a: P3  # P4\nb: P5\n",
		"data/c.md":            "P9 of a user's\n",
		".git/d.md":            "P9\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	prose, err := house.ReadProse(dir)
	if err != nil {
		t.Fatal(err)
	}
	clauses, err := os.ReadFile(filepath.Join(dir, house.ClausesPage))
	if err != nil {
		t.Fatal(err)
	}
	files, err := house.ReadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := house.Tests(dir, files, string(clauses))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := house.Metrics(dir, files, prose)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Concat(house.Citations(prose, string(clauses)), house.Documents(dir, prose), tests, metrics)
	want := []string{
		"layer/a.go:3 cites R2, ", "layer/a.go:3 cites rfc-002, ", "layer/a.go:5 cites R4, ", "layer/a.go:6 cites R5, ",
		"layer/testdata/b.txt:1 cites P1, ", "node.yaml:1 cites P4, ",
		"docs/sql.md:1 refers to docs/http.md, ", "layer/a.go:3 refers to layer/gone.go, ",
		"layer/a.go:4 refers to CONTRACT.md, ", "layer/a.go:4 refers to CONTRACT, ",
		"layer/a.go:4 refers to issue 4, ", "docs/clauses.md names TestGone, ",
		"docs/sql.md:1 names the metric divan_gone, ",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

func TestTree_Sizes(t *testing.T) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := house.Oversized(root, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

// The checker itself, on made-up packages.
func TestOversized(t *testing.T) {
	dir := t.TempDir()
	var files []house.File
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, house.File{Name: name})
	}
	methods := func(name string, n int) (text string) {
		text = "package p\n\ntype " + name + "[T any] struct{}\n"
		for i := range n {
			text += fmt.Sprintf("func (x *%s[T]) m%d() {}\n", name, i)
		}
		return text
	}
	for i := range 33 {
		write(fmt.Sprintf("many/f%d.go", i), "package many\n")
	}
	write("long/long.go", "package long\n"+strings.Repeat("\n", 5000))
	write("long/long_test.go", "package long\n"+methods("tested", 30))
	write("wide/a.go", methods("owner", 25))
	write("wide/b.go", "package p\n\nfunc (x owner[T]) last() {}\n")
	write("wide/c.go", methods("narrow", 25))
	write("query/bind/b.go", methods("binder", 26))
	got, err := house.Oversized(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"long has 5001 lines, more than 5000", "many has 33 files, more than 32",
		"wide.owner has 26 methods, more than 25"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package house_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// packageComments returns the package comments of a tree, by folder and as a list.
func packageComments(t *testing.T, root string) (map[string][]house.PackageComment, []string) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	byFolder, err := house.PackageComments(root, files)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, comments := range byFolder {
		for _, c := range comments {
			all = append(all, c.Text)
		}
	}
	return byFolder, all
}

// A package comment says what the package contains and what it does not.
func TestTree_PackageComments(t *testing.T) {
	comments, _ := packageComments(t, root)
	if len(comments) < 40 {
		t.Fatalf("read %d packages: this is not the tree", len(comments))
	}
	for _, fault := range house.Uncommented(comments) {
		t.Error(fault)
	}
}

// Links lead somewhere, and every page is linked.
func TestTree_Pages(t *testing.T) {
	prose := readProse(t)
	_, comments := packageComments(t, root)
	wide, err := house.WideScripts(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range slices.Concat(
		house.Links(root, prose), house.Unlinked(prose, comments), house.Wide(prose), wide) {
		t.Error(fault)
	}
}

// The checks themselves, on a made-up tree.
func TestPages(t *testing.T) {
	dir, long := t.TempDir(), strings.Repeat("ä", 120)
	for name, text := range map[string]string{
		"README.md": "# A `node`'s title\n[a](docs/a.md#the-end), [b](docs/b.md), [gone](gone.md) and " +
			"`[code](gone.md)`\n" +
			"[web](https://example.com/x.md), [self](#a-nodes-title), " +
			"[bad](docs/a.md#gone)\n```\n[code](gone.md)\n```\n" +
			"[r]: docs/gone.md\n",
		"docs/a.md":        "## The end\n",
		"docs/b.md":        "[me](b.md)\n",
		"docs/c.md":        "[me](c.md), docs/c.md\n",
		"docs/design/d.md": "| " + long + "\n" + long + "\n" + long + "d\n```\n" + long + "d\n```\n",
		"docs/design/e.md": "",
		"scripts/a":        "# " + long[4:] + "\n# " + long + "\n",
		"node.yaml":        "a: " + long + "\n",
		"layer/a.go": "// Package layer has things. See docs/a.md, docs/b.md and " +
			"docs/design/d.md.\npackage layer\n",
		"layer/b/b.go":    "// Package b is small.\npackage b\n\n// See docs/design/e.md.\n",
		"layer/c/c.go":    "package c\n",
		"layer/d/d.go":    "// Package d has one. And two.\npackage d\n",
		"layer/d/doc.go":  "// Package d has one. And two.\npackage d\n",
		"layer/e/e.go":    "// This is a comment. It is lost.\npackage e\n",
		"node/cmd/f/f.go": "// Command f does things:\n//\n//\tf now\n//\n// It does no others.\npackage main\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	prose, err := house.ReadProse(dir)
	if err != nil {
		t.Fatal(err)
	}
	byFolder, comments := packageComments(t, dir)
	wide, err := house.WideScripts(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Concat(house.Links(dir, prose), house.Unlinked(prose, comments), house.Uncommented(byFolder),
		house.Wide(prose), wide)
	want := []string{
		"README.md:2 links to gone.md, ", "README.md:3 links to docs/a.md#gone, ",
		"README.md:7 links to docs/gone.md, ",
		"docs/c.md is not linked from anywhere", "docs/design/e.md is not mentioned ",
		"layer/b/b.go says what lives ", "layer/c has no package comment", "layer/d has package comments in ",
		"layer/e/e.go has a package comment that does not begin ", "docs/design/d.md:3 has 121 ",
		"scripts/a:2 has 122 ", "node.yaml:1 has 123 ",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Package house checks the architecture of the tree: which rooms there are, who may import whom, and where each
// third-party module is used. Its tests read the imports of every Go file, whatever its build tags, and compare them
// with the rules. They also check that what comments and Markdown refer to exists. What programs do is tested
// elsewhere.
package house

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the prefix of the project's import paths.
const Module = "github.com/divandb/divan"

// File has the imports of a Go file. Paths of the project's packages are relative to the module, such as "layer/kv".
type File struct {
	Name    string // relative to the root, with slashes
	Imports []string
}

// Package returns the folder of the file, which is its import path relative to the module.
func (f File) Package() string { return path.Dir(f.Name) }

// Test reports whether the file is built for tests only.
func (f File) Test() bool { return strings.HasSuffix(f.Name, "_test.go") }

// ReadTree reads the imports of every Go file under root, except in testdata and in folders that Go ignores too.
func ReadTree(root string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root &&
				(strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" ||
					base == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		f, err := readFile(root, name)
		files = append(files, f)
		return err
	})
	return files, err
}

func readFile(root, name string) (File, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return File{}, err
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return File{}, err
	}
	f := File{Name: filepath.ToSlash(rel)}
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, err
		}
		f.Imports = append(f.Imports, strings.TrimPrefix(p, Module+"/"))
	}
	return f, nil
}

// Check returns a sentence for each import that the rules do not allow, sorted.
func Check(files []File) []string {
	var faults []string
	for _, f := range files {
		for _, imported := range f.Imports {
			if why := refuse(f, imported); why != "" {
				faults = append(faults, fmt.Sprintf("%s imports %s: %s", f.Name, imported, why))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

// refuse returns why f may not import a package, or "" if it may.
func refuse(f File, imported string) string {
	switch kindOf(imported) {
	case standardLibrary:
		return refuseStandard(f, imported)
	case thirdParty:
		return refuseThirdParty(f, imported)
	}
	from := roomOf(f.Package())
	to := roomOf(imported)
	if from == nil {
		return "no rule knows the package " + f.Package() + "; give it one in scripts/house"
	}
	if to == nil {
		return "no rule knows it; give it one in scripts/house"
	}
	if from == to || within(from.may, imported) {
		return ""
	}
	if f.Test() && within(slices.Concat(from.testsMay, everyTestMay), imported) {
		return ""
	}
	return from.why
}

type importKind int

const (
	ours importKind = iota
	standardLibrary
	thirdParty
)

func kindOf(imported string) importKind {
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case slices.Contains(Rooms, first):
		return ours
	case strings.Contains(first, "."):
		return thirdParty
	}
	return standardLibrary
}

func refuseStandard(f File, imported string) string {
	if why, ok := bannedStandard[imported]; ok && !within(why.but, f.Package()) && !(f.Test() && why.testsMay) {
		return why.reason
	}
	return ""
}

func refuseThirdParty(f File, imported string) string {
	for module := imported; module != "."; module = path.Dir(module) {
		home, ok := thirdParties[module]
		switch {
		case !ok:
			continue
		case within(home.rooms, f.Package()) || (f.Test() && home.tests):
			return ""
		case len(home.rooms) == 0:
			return "this third-party module is only for tests: " + home.why
		}
		return "this third-party module may only be used in " + strings.Join(home.rooms, " and ") + ": " + home.why
	}
	return "a third-party module without a home: add a sentence in ARCHITECTURE.md and a line in scripts/house"
}

// within reports whether pkg matches one of the patterns: "layer/kv" is only that package, "layer/kv/..." also
// everything below it.
func within(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		tree, all := strings.CutSuffix(p, "/...")
		return pkg == tree || (all && strings.HasPrefix(pkg, tree+"/"))
	})
}

// roomOf returns the rule of a package: its own, or that of the nearest folder above it. A package below a folder named
// internal does not have the rule of what is above that: this may import all of them, and each of them only some.
func roomOf(pkg string) *rule {
	for dir := pkg; dir != "." && path.Base(dir) != "internal"; dir = path.Dir(dir) {
		for i := range rules {
			if rules[i].room == dir {
				return &rules[i]
			}
		}
	}
	return nil
}

// Dependencies returns a sentence for each imported third-party module that is missing in the list of dependencies in
// ARCHITECTURE.md, and for each module in the rules that is no longer imported.
func Dependencies(files []File, architecture string) []string {
	imported := map[string]bool{} // entries of thirdParties
	for _, f := range files {
		for _, p := range f.Imports {
			if kindOf(p) != thirdParty {
				continue
			}
			for module := p; module != "."; module = path.Dir(module) {
				if _, ok := thirdParties[module]; ok {
					imported[module] = true
					break
				}
			}
		}
	}
	_, list, _ := strings.Cut(architecture, "## Dependencies")
	var faults []string
	for module := range thirdParties {
		switch {
		case !imported[module]:
			faults = append(faults, module+" is listed in scripts/house, but nothing imports it")
		case !listed(list, module):
			faults = append(faults, module+" is imported without a sentence in ARCHITECTURE.md, section Dependencies")
		}
	}
	slices.Sort(faults)
	return faults
}

// listed reports whether an item of the list is about the module, or about the module of a package path.
func listed(list, module string) bool {
	for line := range strings.Lines(list) {
		item, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		first, _, _ := strings.Cut(item, ": ")
		for _, name := range strings.FieldsFunc(first, func(r rune) bool { return strings.ContainsRune(" ,()", r) }) {
			if name == module || strings.HasPrefix(name, module+"/") || strings.HasPrefix(module, name+"/") {
				return true
			}
		}
	}
	return false
}

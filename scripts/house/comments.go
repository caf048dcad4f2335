package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// PackageComment is a file's comment on its package clause.
type PackageComment struct {
	Name string // of the package, or of its folder for a command
	File string
	Text string // without comment markers; empty if the file has none
}

// PackageComments returns the package comments of files that are not tests, by folder.
func PackageComments(root string, files []File) (map[string][]PackageComment, error) {
	all := map[string][]PackageComment{}
	for _, f := range files {
		if f.Test() {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, f.Name), nil,
			parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		c := PackageComment{Name: parsed.Name.Name, File: f.Name, Text: text(parsed.Doc)}
		all[f.Package()] = append(all[f.Package()], c)
	}
	return all, nil
}

func text(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	return doc.Text()
}

// Uncommented returns a sentence for each package that does not have exactly one comment that begins as godoc requires
// and has at least two sentences, on what the package contains and what it does not.
func Uncommented(comments map[string][]PackageComment) []string {
	var faults []string
	for _, folder := range slices.Sorted(maps.Keys(comments)) {
		said := slices.DeleteFunc(slices.Clone(comments[folder]), func(c PackageComment) bool { return c.Text == "" })
		switch {
		case len(said) == 0:
			faults = append(faults, folder+" has no package comment")
		case len(said) > 1:
			faults = append(faults, folder+" has package comments in "+said[0].File+" and "+said[1].File)
		case !begins(said[0], folder):
			faults = append(faults, said[0].File+" has a package comment that does not begin with its name")
		case sentences(said[0].Text) < 2:
			faults = append(faults,
				said[0].File+" says what lives in the package, but not what does not, or where that is")
		}
	}
	return faults
}

func begins(c PackageComment, folder string) bool {
	if c.Name == "main" {
		return strings.HasPrefix(c.Text, "Command "+filepath.Base(folder)+" ")
	}
	return strings.HasPrefix(c.Text, "Package "+c.Name+" ")
}

// sentences counts sentences by their ends.
func sentences(text string) int {
	n := 0
	for _, end := range []string{". ", ".\n", ":\n"} {
		n += strings.Count(text+"\n", end)
	}
	return n
}

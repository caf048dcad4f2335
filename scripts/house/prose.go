package house

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prose is the human-readable text of one file: comments of Go files, settings and scripts, and all of Markdown.
type Prose struct {
	Name  string // relative to the root, with slashes
	Lines []Line
}

// Line is one line of prose, with its line number in the file.
type Line struct {
	Number int
	Text   string
}

// ReadProse reads the prose of every file below root. Unlike ReadTree it includes testdata, whose scripts have
// comments.
func ReadProse(root string) ([]Prose, error) {
	var all []Prose
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && ignoredFolder(root, name):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		read := proseReader(name)
		if read == nil {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		all = append(all, Prose{Name: filepath.ToSlash(rel), Lines: read(string(text))})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("house: %w", err)
	}
	return all, nil
}

// ignoredFolder reports whether a folder is not part of the repository: .git, and what .gitignore lists.
func ignoredFolder(root, name string) bool {
	base := filepath.Base(name)
	atRoot := filepath.Dir(name) == filepath.Clean(root)
	return base == ".git" || base == "node_modules" || (atRoot && (base == "bin" || base == "data"))
}

// proseReader returns a function that extracts the prose of a file, or nil if the file has none.
func proseReader(name string) func(string) []Line {
	switch ext := filepath.Ext(name); {
	case ext == ".go":
		return goComments
	case ext == ".md":
		return allLines
	case ext == ".yaml", ext == ".yml", ext == "" && filepath.Base(filepath.Dir(name)) == "scripts":
		return hashComments
	case ext == ".txt" && strings.Contains(filepath.ToSlash(name), "/testdata/"):
		return hashLines
	}
	return nil
}

func goComments(text string) (lines []Line) {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.COMMENT {
			for i, line := range strings.Split(lit, "\n") {
				lines = append(lines, Line{file.Line(pos) + i, strings.TrimPrefix(line, "//")})
			}
		}
	}
}

func allLines(text string) (lines []Line) {
	for line := range strings.Lines(text) {
		lines = append(lines, Line{len(lines) + 1, strings.TrimRight(line, "\r\n")})
	}
	return lines
}

// hashComments returns the text after each # at the beginning of a word.
func hashComments(text string) (lines []Line) {
	for _, l := range allLines(text) {
		if _, comment, found := strings.Cut(" "+l.Text, " #"); found {
			lines = append(lines, Line{l.Number, comment})
		}
	}
	return lines
}

// hashLines returns the lines that begin with a #.
func hashLines(text string) []Line {
	return slices.DeleteFunc(allLines(text), func(l Line) bool { return !strings.HasPrefix(l.Text, "#") })
}

package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reasonText begins what a method Degraded returns: a stable name, a colon and a space.
var reasonText = regexp.MustCompile(`"([a-z]+(?:_[a-z]+)+): `)

// Reasons finds the names of reasons why a node is degraded, sorted, in the lines of code of the files that are no
// tests.
func Reasons(root string, files []File) ([]string, error) {
	var names []string
	for _, f := range files {
		if f.Test() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			return nil, fmt.Errorf("house: %w", err)
		}
		names = append(names, reasonsIn(string(text))...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func reasonsIn(text string) (names []string) {
	for line := range strings.Lines(text) {
		code, _, _ := strings.Cut(line, "//")
		for _, match := range reasonText.FindAllStringSubmatch(code, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// Unlisted compares the names with the rows of the table of them in docs/operations.md, and says which of either have
// no counterpart.
func Unlisted(names []string, page string) (faults []string) {
	_, section, _ := strings.Cut(page, "\n## What `/_up` says\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var listed []string
	for line := range strings.Lines(section) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			listed = append(listed, name)
		}
	}
	for _, name := range names {
		if !slices.Contains(listed, name) {
			faults = append(faults, fmt.Sprintf("docs/operations.md, \"What `/_up` says\", has no row for %s", name))
		}
	}
	for _, name := range listed {
		if !slices.Contains(names, name) {
			faults = append(faults,
				fmt.Sprintf("docs/operations.md, \"What `/_up` says\", has a row for %s, which nothing says", name))
		}
	}
	return faults
}

package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// reasonText matches the beginning of a string that a method Degraded returns: a stable name, a colon and a space.
var reasonText = regexp.MustCompile(`"([a-z]+(?:_[a-z]+)+): `)

// Reasons returns the names of reasons for a degraded node, sorted, found in the code of files that are not tests.
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

// Unlisted compares the names with the rows of their table in docs/operations.md, and returns a sentence for each that
// lacks a counterpart.
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
				fmt.Sprintf("docs/operations.md, \"What `/_up` says\", has a row for %s, which no code reports", name))
		}
	}
	return faults
}

package config

import (
	"fmt"
	"slices"
	"strings"
)

// origin is where a value came from: a line of a file, a flag or a variable. The zero origin is the built-in default.
type origin struct {
	file string
	line int
	name string // "-http", "DIVAN_HTTP"
}

func (o origin) String() string {
	switch {
	case o.line > 0:
		return fmt.Sprintf("%s:%d", o.file, o.line)
	case o.file != "":
		return o.file
	default:
		return o.name
	}
}

// fault is one error in the settings.
type fault struct {
	at   origin
	path string // "storage.engine", or "" if the fault is not about one setting
	text string
}

func (f fault) String() string {
	var parts []string
	for _, p := range []string{f.at.String(), f.path, f.text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ": ")
}

// Faults are all faults of a configuration, in the order of lines. They cause exit status 2.
type Faults []fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// sorted returns faults in the file first, by line, then the others in the order found.
func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b fault) int {
		if (a.at.line > 0) != (b.at.line > 0) {
			if a.at.line > 0 {
				return -1
			}
			return 1
		}
		return a.at.line - b.at.line
	})
	return fs
}

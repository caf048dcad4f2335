package node

import (
	"runtime/debug"
	"strings"
)

// version of the program; set at release by -ldflags "-X github.com/divandb/divan/node.version=1.2.3".
var version = "0.1.0-dev"

// Version is this program's version, with the commit it was built from where the toolchain knows it.
func Version() string {
	if sha := Commit(); sha != "" {
		return version + "+" + sha
	}
	return version
}

// Commit is the short id of the commit the program was built from; empty when it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var sha, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			sha = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if len(sha) < 7 {
		return ""
	}
	return strings.ToLower(sha[:7]) + dirty
}

package node

import (
	"runtime/debug"
	"strings"
)

// version is the program's version; set at release by -ldflags "-X github.com/divandb/divan/node.version=1.2.3".
var version = "0.1.0-dev"

// Version returns the program's version, with the commit that it was built from where that is known.
func Version() string {
	if sha := Commit(); sha != "" {
		return version + "+" + sha
	}
	return version
}

// Commit returns the short id of the commit that the program was built from, or "" if that is unknown.
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

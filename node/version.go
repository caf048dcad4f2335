package node

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/fdb"
	"github.com/divandb/divan/node/config"
)

// release is the version that the tree is on the way to; scripts/release sets version by -ldflags "-X
// github.com/divandb/divan/node.version=1.2.3".
const release = "0.3.0"

var version = release + "-dev"

// Version returns the program's version, with the commit that it was built from where that is known.
func Version() string {
	b := readBuild()
	if b.module != "" {
		return b.module
	}
	if b.commit != "" {
		return version + "+" + b.short()
	}
	return version
}

// Commit returns the short id of the commit that the program was built from, or "" if that is unknown.
func Commit() string { return readBuild().short() }

// Describe describes the program in lines, of which the first is Version.
func Describe() string {
	b := readBuild()
	commit := "unknown: the build did not record it"
	if b.commit != "" {
		commit = strings.TrimSpace(b.commit + " " + b.time)
		if b.modified {
			commit += ", with changes that were not committed"
		}
	}
	engines := config.EngineEmbedded + ", " + config.EngineRemote
	if fdb.Available {
		engines += ", " + config.EngineFDB
	} else {
		engines += "; without " + config.EngineFDB + " (scripts/build-fdb builds it)"
	}
	return fmt.Sprintf("divan %s\ncommit   %s\nbuilt    with %s for %s/%s\nengines  %s\n"+
		"data     format %d, in files of the embedded engine of format %d; opens data of format 1 to %d", Version(),
		commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, engines, keyspace.FormatVersion, embedded.FileFormat,
		keyspace.FormatVersion)
}

// build says what the program was built from.
type build struct {
	commit, time string // of the repository, or ""
	modified     bool   // the work tree had changes
	module       string // version of the module, if `go install MODULE@VERSION` built the program
}

func (b build) short() string {
	if len(b.commit) < 7 {
		return ""
	}
	short := b.commit[:7]
	if b.modified {
		short += ".dirty"
	}
	return short
}

func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{}
	}
	return buildFrom(info)
}

func buildFrom(info *debug.BuildInfo) (b build) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = strings.ToLower(s.Value)
		case "vcs.time":
			b.time = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	// A build of a module from the proxy has a version, and no repository. The version of a commit without a tag ends
	// in the time and the beginning of the commit's id: v0.0.0-20261124112113-e1120a01a1b2.
	if v := info.Main.Version; b.commit == "" && v != "" && v != "(devel)" {
		b.module = strings.TrimPrefix(v, "v")
		if parts := strings.Split(v, "-"); len(parts) >= 3 && len(parts[len(parts)-1]) == 12 {
			b.commit = parts[len(parts)-1]
		}
	}
	return b
}

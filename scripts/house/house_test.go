package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

const root = "../.."

func TestTree_Imports(t *testing.T) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("read %d files: this is not the tree", len(files))
	}
	for _, fault := range house.Check(files) {
		t.Error(fault)
	}
}

// Every third-party module has a sentence in ARCHITECTURE.md, and no sentence outlives its module.
func TestTree_Dependencies(t *testing.T) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	architecture, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range house.Dependencies(files, string(architecture)) {
		t.Error(fault)
	}

	// The check itself: without the list every import lacks a sentence, and without files every home is stale.
	without := house.Dependencies(files, "")
	if len(without) < 15 || !strings.Contains(without[0], "without a sentence") {
		t.Errorf("without a list: %q", without)
	}
	if stale := house.Dependencies(nil, string(architecture)); len(stale) != len(without) ||
		!strings.Contains(stale[0], "nothing imports it") {
		t.Errorf("without files: %q", stale)
	}
}

// Six rooms, and the usual files of a project: someone new to Divan must find any line by guessing its room.
func TestTree_Rooms(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"go.mod", "go.sum", "node.yaml", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
		"SECURITY.md", "CHANGELOG.md", "LICENSE", "NOTICE"}
	ignored := []string{"bin", "data"} // never committed, see .gitignore
	for _, e := range entries {
		name := e.Name()
		switch {
		case e.IsDir() && name == "docs":
			onlyMarkdown(t, filepath.Join(root, name))
		case strings.HasPrefix(name, "."), e.IsDir() && slices.Contains(house.Rooms, name),
			!e.IsDir() && slices.Contains(known, name), slices.Contains(ignored, name):
		default:
			t.Errorf("%s is none of the six rooms", name)
		}
	}
	for _, room := range append([]string{"go.mod", "node.yaml", "LICENSE"}, house.Rooms...) {
		if _, err := os.Stat(filepath.Join(root, room)); err != nil {
			t.Errorf("%s is missing", room)
		}
	}
}

// onlyMarkdown fails for anything in docs except Markdown and its pictures.
func onlyMarkdown(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			onlyMarkdown(t, filepath.Join(dir, e.Name()))
		case filepath.Ext(e.Name()) != ".md" && filepath.Ext(e.Name()) != ".svg":
			t.Errorf("%s is neither Markdown nor a picture for it", filepath.Join(dir, e.Name()))
		}
	}
}

// The checker itself, on made-up imports.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		file, imports string
		fault         string // a part of the only fault, or empty if there is none
	}{
		{"layer/put.go", "layer/kv", ""},
		{"layer/put.go", "context", ""},
		{"layer/put.go", "layer/kv/embedded", "never an engine"},
		{"layer/put_test.go", "layer/kv/embedded", ""},
		{"layer/put_test.go", "actors", "nothing above"},
		{"layer/put.go", "node/auth", "nothing above"},
		{"layer/put.go", "query/plan", "nothing above"},
		{"layer/put.go", "net/http", "only node speaks HTTP"},
		{"layer/put_test.go", "net/http", ""},
		{"layer/kv/kv.go", "layer/tuple", "only on the standard library"},
		{"layer/kv/kv.go", "golang.org/x/sync/errgroup", ""},
		{"layer/kv/embedded/engine.go", "layer/kv/remote", "does not know other engines"},
		{"layer/kv/embedded/engine.go", "github.com/cockroachdb/pebble/v2", ""},
		{"layer/kv/embedded/engine.go", "unsafe", "memory fault"},
		{"layer/kv/fdb/engine.go", "C", ""},
		{"layer/kv/embedded/disk.go", "C", "without cgo"},
		{"layer/changes.go", "github.com/cockroachdb/pebble/v2/sstable",
			"may only be used in layer/kv/embedded and layer/kv/embedded/... and scripts/benchmark"},
		{"layer/revtree/tree.go", "layer/kv", "pure"},
		{"actors/supervisor.go", "cluster", "Placer"},
		{"actors/supervisor.go", "layer", ""},
		{"actors/supervisor.go", "github.com/asynkron/protoactor-go/actor", ""},
		{"cluster/members.go", "actors", "cluster and actors do not know each other"},
		{"cluster/members.go", "layer", "know no databases"},
		{"query/exec/run.go", "layer", "reads that query declares itself"},
		{"query/exec/run.go", "query/pgwire", "reads that query declares itself"},
		{"query/server.go", "query/pgwire", ""},
		{"query/server.go", "layer", "interfaces of its own"},
		{"query/sql/parse.go", "github.com/jackc/pgx/v5/pgproto3", "may only be used in query/pgwire"},
		{"query/sql/parse.go", "github.com/jackc/pgx/v5/pgconn", "only be used in scripts/benchmark"},
		{"query/wire_test.go", "github.com/jackc/pgx/v5", ""},
		{"node/api/put.go", "layer/kv/embedded", "wired by node"},
		{"node/node.go", "layer/kv/embedded", ""},
		{"node/engine_fdb.go", "layer/kv/fdb", ""},
		{"node/cmd/divan/main.go", "layer", "main handles the process"},
		{"node/config/load.go", "github.com/foo/bar", "a third-party module without a home"},
		{"node/api/get.go", "go.yaml.in/yaml/v3", "may only be used in node/config"},
		{"node/api/get.go", "pgregory.net/rapid", "only for tests"},
		{"node/api/get_test.go", "pgregory.net/rapid", ""},
		{"layer/fresh/new.go", "layer/kv", ""}, // a folder without a rule has that of the room above it
		{"layer/fresh/new.go", "actors", "nothing above"},
		{"util/strings.go", "layer", "no rule knows the package util"},
		// The arrows between the packages inside of a room.
		{"layer/internal/write/put.go", "layer/internal/rev", ""},
		{"layer/internal/write/put.go", "layer/internal/index", "without knowing indexes"},
		{"layer/internal/db/store.go", "layer/internal/rev", "know none of them"},
		{"layer/internal/feed/merge.go", "layer/internal/write", "whoever reads it knows why"},
		{"layer/internal/build/step.go", "layer/internal/query", "whoever asks for them"},
		{"layer/internal/build/step_test.go", "layer/internal/query", "whoever asks for them"},
		{"layer/internal/fresh/new.go", "layer/internal/db", "no rule knows the package layer/internal/fresh"},
		{"layer/internal/db/store.go", "layer/internal/fresh", "no rule knows it"},
		{"actors/internal/feeds/hub.go", "actors/internal/indexing", "listeners are woken"},
		{"actors/internal/runtime/tree.go", "layer", "does not depend on what it does"},
		{"actors/internal/fresh/new.go", "layer", "no rule knows the package actors/internal/fresh"},
		{"node/api/internal/docs/get.go", "node/api/internal/feeds", "know no other endpoints"},
		{"node/api/internal/docs/get.go", "layer/internal/rev", "know no other endpoints"},
	} {
		got := house.Check([]house.File{{Name: c.file, Imports: []string{c.imports}}})
		switch {
		case c.fault == "" && len(got) > 0:
			t.Errorf("%s may import %s, yet: %q", c.file, c.imports, got)
		case c.fault != "" && (len(got) != 1 || !strings.Contains(got[0], c.fault)):
			t.Errorf("%s must not import %s: got %q, want %q", c.file, c.imports, got, c.fault)
		}
	}
}

// write creates a file and its folders.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Files are read whatever their build tags. testdata is left out.
func TestReadTree(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"layer/a.go": "//go:build fdb\n\npackage layer\n\nimport (\n\t\"fmt\"\n\tk \"" + house.Module +
			"/layer/kv\"\n)\n\nvar _ = fmt.Sprint(k.X)\n",
		"layer/testdata/b.go": "package b\n\nimport \"nowhere\"\n",
		".git/c.go":           "no Go at all",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	files, err := house.ReadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Name != "layer/a.go" ||
		!slices.Equal(files[0].Imports, []string{"fmt", "layer/kv"}) {
		t.Errorf("read %+v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, "layer", "bad.go"), []byte("package"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := house.ReadTree(dir); err == nil {
		t.Error("a file that is not Go was accepted")
	}
}

package config_test

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/node/config"
	"github.com/divandb/divan/node/couchopts"
)

var update = flag.Bool("update", false, "write node.yaml and docs/settings.md")

// node.yaml and docs/settings.md are made from the table of settings.
func TestPages(t *testing.T) {
	for file, want := range map[string]string{
		"../../node.yaml":        config.YAML(),
		"../../docs/settings.md": config.Markdown(),
	} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil { //nolint:gosec // a file of the repository
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the table of settings says; run: go test ./node/config -run TestPages -update",
				strings.TrimPrefix(file, "../../"))
		}
	}
}

// The table has each field of Config once and in its order, so that each has a default, and the defaults are valid.
func TestRows(t *testing.T) {
	if got, want := config.RowPaths(), config.Paths(); !slices.Equal(got, want) {
		t.Errorf("the table has\n%q\nConfig has\n%q", got, want)
	}
	for _, path := range config.RowsWithoutText() {
		t.Errorf("%s has no comment", path)
	}
	got := mustLoad(t, config.YAML(), nil)
	got.File = ""
	want := config.Default()
	// Empty lists are nil in Default, and not in a file. They mean the same.
	for _, list := range []*[]string{
		&want.Cluster.Join, &want.Cluster.AcceptSecrets, &want.Storage.AcceptSecrets, &want.HTTP.Proxies,
		&want.HTTP.CORS.Origins, &want.HTTP.CORS.Methods, &want.HTTP.CORS.Headers,
	} {
		*list = []string{}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("node.yaml says\n%+v\nthe default is\n%+v", got, want)
	}
}

// The settings that docs/settings.md names as the sources of CouchDB's options exist.
func TestMarkdown_CouchOptions(t *testing.T) {
	paths := config.Paths()
	for _, o := range couchopts.All {
		if o.Setting != "" && !slices.Contains(paths, o.Setting) {
			t.Errorf("%s: there is no setting %s", o.Name(), o.Setting)
		}
	}
}

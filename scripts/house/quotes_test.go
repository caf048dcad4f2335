package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// Messages to clients of SQL quote names and values as PostgreSQL does, raw. %q escapes them as Go does.
func TestTree_Quotes(t *testing.T) {
	elsewhere := []string{"query/exec/exectest", "query/mango", "query/pgwire"}
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Test() || !strings.HasPrefix(f.Name, "query/") || slices.Contains(elsewhere, f.Package()) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(source), "\n") {
			if strings.Contains(line, "%q") && !strings.HasPrefix(line, "func quote(") {
				t.Errorf("%s:%d escapes what it quotes: write \"%%s\"", f.Name, i+1)
			}
		}
	}
}

package house_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// Whoever reads a reason in /_up finds it in the README.
func TestTree_Reasons(t *testing.T) {
	files, err := house.ReadTree(root)
	if err != nil {
		t.Fatal(err)
	}
	names, err := house.Reasons(root, files)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(names, "disk_full") || !slices.Contains(names, "open_databases") {
		t.Fatalf("found %q: these are not all", names)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range house.Unlisted(names, string(readme)) {
		t.Error(fault)
	}

	// The check itself.
	if faults := house.Unlisted(names, ""); len(faults) != len(names) {
		t.Errorf("without a table: %q", faults)
	}
	if faults := house.Unlisted(nil, string(readme)); len(faults) != len(names) {
		t.Errorf("without reasons: %q", faults)
	}
}

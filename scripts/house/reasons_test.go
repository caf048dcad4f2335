package house_test

import (
	"slices"
	"testing"

	"github.com/divandb/divan/scripts/house"
)

// Every reason in /_up is explained in the page for operators.
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
	page := readPage(t, "docs/operations.md")
	for _, fault := range house.Unlisted(names, page) {
		t.Error(fault)
	}

	// The check itself.
	if faults := house.Unlisted(names, ""); len(faults) != len(names) {
		t.Errorf("without a table: %q", faults)
	}
	if faults := house.Unlisted(nil, page); len(faults) != len(names) {
		t.Errorf("without reasons: %q", faults)
	}
}

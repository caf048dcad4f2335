package docids_test

import (
	"regexp"
	"testing"

	"github.com/divandb/divan/node/docids"
)

// Ids have the form of their algorithm, are unique, and those by time are in order.
func TestIDs(t *testing.T) {
	for _, c := range []struct {
		algorithm, suffix, form string
		ordered                 bool
	}{
		{"", "", "^[0-9a-f]{32}$", false},
		{"sequential", "", "^[0-9a-f]{32}$", false},
		{"random", "", "^[0-9a-f]{32}$", false},
		{"utc_random", "", "^06[0-9a-f]{30}$", true},
		{"utc_id", "-node 1", "^06[0-9a-f]{12}-node 1$", true},
		{"utc_id", "", "^06[0-9a-f]{12}$", true},
	} {
		x := &docids.IDs{Option: func(section, key string) (string, bool) {
			if section != "uuids" {
				t.Fatal(section)
			}
			return map[string]string{"algorithm": c.algorithm, "utc_id_suffix": c.suffix}[key], true
		}}
		form, seen, last := regexp.MustCompile(c.form), map[string]bool{}, ""
		for range 1000 {
			id := x.Next()
			if !form.MatchString(id) || seen[id] || c.ordered && id <= last {
				t.Fatalf("%s: %q after %q", c.algorithm, id, last)
			}
			seen[id], last = true, id
		}
	}
	if id := new(docids.IDs).Next(); len(id) != 32 {
		t.Errorf("without options: %q", id)
	}
}

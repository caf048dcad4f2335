package settings_test

import (
	"slices"
	"testing"

	"github.com/divandb/divan/query/settings"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// Names in search_path are folded as in statements: letters of ASCII outside quotes, and no others.
func TestValues_SearchPath(t *testing.T) {
	v := settings.New("ann", work.NewNode(1<<20), func(string) {}, func(*sqlstate.Error) {})
	for value, want := range map[string][]string{
		`"$user", public`:      {"public"},
		`Orders , "By ""Date"`: {"orders", `By "Date`},
		`ÄRGER, "Ärger"`:       {"Ärger", "Ärger"},
		``:                     nil,
	} {
		if err := v.Set("search_path", &value, false, 0); err != nil {
			t.Fatal(err)
		}
		if got := v.SearchPath(); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

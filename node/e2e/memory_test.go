package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// A node whose memory is nearly used up says so, keeps no index warm, and answers all the same.
func TestMemoryShort(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "12MiB") // less than the node needs at its start
	c := start(t, t.TempDir()).client()
	c.ok("PUT", "/db", "")
	c.ok("PUT", "/db/_design/d", `{"views":{"v":{"map":"function(doc) { emit(doc.n) }"}}}`)
	c.ok("PUT", "/db/a", `{"n":1}`)
	eventually(t, "a reason", time.Minute, func() bool {
		var up struct{ Reasons []string }
		if err := json.Unmarshal(c.do("GET", "/_up", "").body, &up); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(up.Reasons, func(r string) bool {
			return strings.HasPrefix(r, "memory_short: ") && strings.Contains(r, " of the 12 MB ")
		})
	})
	for range 3 {
		if rows := string(c.do("GET", "/db/_design/d/_view/v?key=1", "").body); !strings.Contains(rows, `"id":"a"`) {
			t.Fatalf("view answers %s", rows)
		}
	}
	if tree := string(c.do("GET", "/_actors", "").body); !strings.Contains(tree, `"kind":"databases"`) ||
		strings.Contains(tree, `"kind":"warm"`) {
		t.Errorf("an index is kept warm: %s", tree)
	}
}

package e2e_test

import (
	"fmt"
	"testing"
	"time"
)

// After a node has been restarted, or has died, the indexes that it kept warm are kept warm again, although nobody asks
// for them.
func TestIndex_WarmAgain(t *testing.T) {
	// rows returns how many the view has, and use has the index built.
	rows := func(c *client, more string) string {
		return fmt.Sprint(c.object("GET", "/db/_design/d/_view/v"+more, "")["total_rows"])
	}
	use := func(t *testing.T, c *client) {
		t.Helper()
		c.ok("PUT", "/db", "")
		c.ok("PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc._id, null) }"}}}`)
		c.ok("PUT", "/db/a", "{}")
		if n := rows(c, ""); n != "1" {
			t.Fatalf("%s rows", n)
		}
	}
	// followed writes another document, of docs, and waits until the index has it.
	followed := func(t *testing.T, c *client, docs int) {
		t.Helper()
		c.ok("PUT", fmt.Sprintf("/db/%d", docs), "{}")
		// With update=false, a query does not ask for the index.
		eventually(t, "the index follows by itself", time.Minute, func() bool {
			return rows(c, "?update=false") == fmt.Sprint(docs)
		})
	}
	t.Run("restarted", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		p := start(t, dir)
		use(t, p.client())
		followed(t, p.client(), 2)
		p.kill()
		p = start(t, dir)
		followed(t, p.client(), 3)
		followed(t, p.client(), 4)
	})
	t.Run("died", func(t *testing.T) {
		t.Parallel()
		c := startCluster(t, 3)
		use(t, c.nodes[2].client())
		followed(t, c.nodes[0].client(), 2)
		c.nodes[2].kill()
		followed(t, c.nodes[0].client(), 3)
		followed(t, c.nodes[1].client(), 4)
	})
}

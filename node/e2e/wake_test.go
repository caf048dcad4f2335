package e2e_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"
)

// feedLines returns the lines of a continuous feed on node i, until the test ends.
func (c *clusterOf) feedLines(i int, path string) *lines {
	c.t.Helper()
	feed := c.nodes[i].client().stream(path)
	c.t.Cleanup(func() { feed.Close() })
	l := newLines()
	go func() {
		defer l.end()
		for s := bufio.NewScanner(feed); s.Scan(); {
			fmt.Fprintln(l, s.Text())
		}
	}()
	return l
}

// shardOwner returns the node that the only shard of a database is placed on, in node i's view.
func (c *clusterOf) shardOwner(i int, db string) (name string) {
	c.t.Helper()
	conn := connect(c.t, c.nodes[i], db, "me")
	defer conn.Close(c.t.Context())
	if err := conn.QueryRow(c.t.Context(), `SELECT node FROM divan.shards`).Scan(&name); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// Feeds on two nodes are woken by a third one, on which their shard's actor is placed. It is paused, continues, and is
// killed. The feeds continue.
func TestFeeds_WokenByAnotherNode(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	mostlyWaits(t)
	c := startCluster(t, 3)
	c.allAlive()
	one := c.nodes[0].client()
	name := "" // of a database whose shard is placed on the last node
	for i := 0; name == ""; i++ {
		db := fmt.Sprint("db", i)
		one.ok("PUT", "/"+db, "")
		eventually(t, "two nodes agree on the placement", 10*time.Second, func() bool {
			return c.shardOwner(0, db) == c.shardOwner(1, db)
		})
		if c.shardOwner(0, db) == "node2" {
			name = db
		}
	}
	feeds := []*lines{c.feedLines(0, "/"+name+"/_changes?feed=continuous"),
		c.feedLines(1, "/"+name+"/_changes?feed=continuous")}
	actor := func(i int) string { return string(c.nodes[i].client().do("GET", "/_actors", "").body) }
	following := func() {
		t.Helper()
		eventually(t, "the nodes with feeds follow", 10*time.Second, func() bool {
			return strings.Contains(actor(0), `"state":"following"`) &&
				strings.Contains(actor(1), `"state":"following"`)
		})
	}
	n := 0
	// hear writes some documents and waits for each on both feeds.
	hear := func(what string, atMost time.Duration) {
		t.Helper()
		for range 10 {
			n++
			id := fmt.Sprintf("doc%d", n)
			one.ok("PUT", "/"+name+"/"+id, "{}")
			for i, feed := range feeds {
				for {
					line, err := feed.next(atMost)
					if err != nil {
						t.Fatalf("%s: no line on node%d: %v", what, i, err)
					}
					if strings.Contains(line, `"`+id+`"`) {
						break
					}
				}
			}
		}
	}
	following()
	if tree := actor(2); !strings.Contains(tree, `"followers":2`) {
		t.Errorf("the owner's actors: %s", tree)
	}
	hear("with the owner running", 10*time.Second)
	c.nodes[2].cmd.Process.Signal(stopSignal)
	hear("while the owner is paused", 3*time.Second)
	c.nodes[2].cmd.Process.Signal(continueSignal)
	hear("after it continued", 3*time.Second)
	eventually(t, "the owner is back", 20*time.Second, func() bool {
		return c.statuses(0) == "node0 alive, node1 alive, node2 alive" && c.statuses(1) == c.statuses(0)
	})
	following()
	hear("with the owner back", 10*time.Second)
	c.nodes[2].kill()
	hear("after the owner was killed", 3*time.Second)
	eventually(t, "the others notice", 20*time.Second, func() bool {
		return strings.Contains(c.statuses(0), "node2 left")
	})
	hear("after the shard has moved", 3*time.Second)
}

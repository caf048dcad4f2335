package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// While the store of a node does not answer, its log says so once, and not for each replication that cannot go on,
// whether the node reaches its databases within the process or by its address. They do not fail because of it, however
// few requests they may repeat, and go on when it answers. A replication whose source is another server is logged for
// itself.
func TestReplicate_storeAway(t *testing.T) {
	needEmbedded(t)
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	mostlyWaits(t)
	nodes := startCluster(t, 2)
	eventually(t, "the nodes see each other", 20*time.Second, func() bool {
		return nodes.statuses(0) == "node0 alive, node1 alive"
	})
	p := nodes.nodes[1]
	c := p.client()
	c.ok("PUT", "/_replicator", "")
	const each = 8 // half of them run on the node
	running := func(want int) {
		t.Helper()
		eventually(t, "the replications run", 60*time.Second, func() bool {
			return strings.Count(string(c.do("GET", "/_scheduler/docs", "").body), `"state":"running"`) == want
		})
	}
	for i := range each {
		for _, end := range []string{"", p.http() + "/"} {
			from := fmt.Sprintf("from%d", i)
			c.do("PUT", "/"+from, "")
			c.ok("PUT", fmt.Sprintf("/_replicator/r%d-%d", i, len(end)), fmt.Sprintf(`{"source":%q,"target":%q,`+
				`"create_target":true,"continuous":true,"retries_per_request":1}`, end+from, fmt.Sprintf("%sto%d-%d", end, i, len(end))))
		}
	}
	running(2 * each)
	begun := strings.Count(p.stderr.whole(), `"msg":"replication started"`)
	if begun < 2 {
		t.Fatalf("%d replications run on the node", begun)
	}
	nodes.nodes[0].kill()
	eventually(t, "the node finds out", 60*time.Second, func() bool {
		return strings.Contains(p.stderr.whole(), `"event":"store_lost"`)
	})
	time.Sleep(3 * time.Second) // longer than requests are repeated
	nodes.start(0)
	eventually(t, "the store answers again", 60*time.Second, func() bool { return c.status("GET", "/_up", "") == 200 })
	for i := range each {
		c.ok("PUT", fmt.Sprintf("/from%d/after", i), "{}")
	}
	for i := range each {
		for _, to := range []string{fmt.Sprintf("/to%d-0/after", i), fmt.Sprintf("/to%d-%d/after", i, len(p.http())+1)} {
			eventually(t, "a replication goes on", 20*time.Second, func() bool { return c.status("GET", to, "") == 200 })
		}
	}
	running(2 * each)
	if n := c.metric(`divan_replication_runs_total{event="crashed"}`); n != 0 {
		t.Errorf("%v runs have failed", n)
	}
	if docs := string(c.do("GET", "/_scheduler/docs", "").body); strings.Count(docs, `"error_count":0`) != 2*each {
		t.Errorf("failures are counted: %s", docs)
	}
	if n := strings.Count(string(c.do("GET", "/_scheduler/jobs", "").body), `"crashed"`); n > 0 {
		t.Errorf("%d failures are in the histories", n)
	}
	text := p.stderr.whole()
	for _, no := range []string{"a replication failed", "a request of a replication failed", "could not be written",
		"request failed"} {
		if n := strings.Count(text, no); n > 0 {
			t.Errorf("the log has %d times %q: %s", n, no, p.stderr)
		}
	}
	if n := strings.Count(text, `"event":"store_lost"`); n != 1 {
		t.Errorf("it has %d times that the store does not answer", n)
	}
	c.ok("PUT", "/_replicator/elsewhere", `{"source":"http://127.0.0.1:9/db","target":"x","create_target":true,`+
		`"retries_per_request":1}`)
	eventually(t, "the other failure is logged", 30*time.Second, func() bool {
		return strings.Contains(p.stderr.whole()+nodes.nodes[0].stderr.whole(), `"msg":"a replication failed"`)
	})
}

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// whole returns all lines so far.
func (l *lines) whole() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// While the store of a node does not answer, its log says so once, and not for each replication that fails, whether the
// node reaches its databases within the process or by its address. A replication whose source is another server is
// logged for itself.
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
				`"create_target":true,"continuous":true}`, end+from, fmt.Sprintf("%sto%d-%d", end, i, len(end))))
		}
	}
	running(2 * each)
	begun := strings.Count(p.stderr.whole(), `"msg":"replication started"`)
	if begun < 2 {
		t.Fatalf("%d replications run on the node", begun)
	}
	nodes.nodes[0].kill()
	eventually(t, "the replications of the node have failed", 60*time.Second, func() bool {
		return c.metric(`divan_replication_runs_total{event="crashed"}`) >= float64(begun)
	})
	nodes.start(0)
	eventually(t, "the store answers again", 60*time.Second, func() bool { return c.status("GET", "/_up", "") == 200 })
	running(2 * each)
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

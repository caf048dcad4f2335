package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// freeAddr returns an address for a listener whose port must be known in advance, or is used again after a restart.
// Nobody uses the port after it either, where a node that gossips at the address listens for messages to its actors.
func freeAddr(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", portsInRow(t, 0, 1))
}

// portsInRow returns a first port such that all ports at the offsets are free too. No other call returns one of them,
// nor the one after it.
func portsInRow(t *testing.T, offsets ...int) int {
	t.Helper()
	const from, behind = 10_000, 32_000 // Linux uses ports from 32,768 on for outgoing connections, others from 49,152
	for range 100 {
		first := from + 2*rand.IntN((behind-from)/2)
		if claimPorts(first, offsets) {
			return first
		}
	}
	t.Fatal("no row of free ports")
	return 0
}

// claimPorts reports whether the ports are free and no concurrent test uses them.
func claimPorts(first int, offsets []int) bool {
	claimed.Lock()
	defer claimed.Unlock()
	for _, o := range offsets {
		if claimed.pairs[(first+o)/2] {
			return false
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+o))
		if err != nil {
			return false
		}
		l.Close()
	}
	for _, o := range offsets {
		claimed.pairs[(first+o)/2] = true
	}
	return true
}

// claimed has the ports that were given to tests, each divided by two.
var claimed = struct {
	sync.Mutex
	pairs map[int]bool
}{pairs: map[int]bool{}}

// clusterOf runs n nodes on the store of the first one.
type clusterOf struct {
	t     *testing.T
	dir   string
	store string // where the first node serves its store
	nodes []*process

	binary  string         // of all nodes
	storage map[int]string // replaces a node's storage section
	more    map[int]string // further settings of a node, as YAML

	http         string         // further settings of all nodes in section http, as YAML
	gossipSecret map[int]string // further settings of a node in section cluster, as YAML
}

func startCluster(t *testing.T, n int) *clusterOf {
	t.Helper()
	c := newCluster(t, n)
	for i := range n {
		c.start(i)
	}
	return c
}

// newCluster returns a cluster whose nodes are not running yet.
func newCluster(t *testing.T, n int) *clusterOf {
	return &clusterOf{t: t, dir: t.TempDir(), store: freeAddr(t), nodes: make([]*process, n), binary: divan}
}

// start starts node i, on the same ports as before. The first node has the store.
func (c *clusterOf) start(i int) {
	c.t.Helper()
	storage, join := fmt.Sprintf("{engine: remote, address: '%s', secret: 'a shared secret'}", c.store), ""
	if testCluster != "" {
		storage = fmt.Sprintf("{engine: fdb, cluster_file: '%s', directory: '%s'}", testCluster, storeDirectory(c.dir))
	} else if i == 0 {
		storage = fmt.Sprintf("{engine: embedded, listen: '%s', secret: 'a shared secret'}", c.store)
	}
	if s := c.storage[i]; s != "" {
		storage = s
	}
	if i > 0 {
		join = "'" + c.nodes[0].ready["gossip"] + "'"
	}
	ports := map[string]string{"http": freeAddr(c.t), "sql": freeAddr(c.t), "gossip": freeAddr(c.t)}
	if before := c.nodes[i]; before != nil {
		ports = before.ready
	}
	dir := filepath.Join(c.dir, fmt.Sprint(i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.t.Fatal(err)
	}
	text := fmt.Sprintf("name: node%d\nstorage: %s\nhttp: {listen: '%s'%s}\nsql: {listen: '%s'}\ncluster: {gossip: "+
		"'%s', join: [%s]%s}\n",
		i, storage, ports["http"], c.http, ports["sql"], ports["gossip"], join, c.gossipSecret[i])
	if err := os.WriteFile(filepath.Join(dir, "node.yaml"), []byte(text+c.more[i]), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.nodes[i] = launchBinary(c.t, c.binary, nil, dir)
	c.nodes[i].waitReady()
}

// statuses returns the members' statuses according to node i, by name.
func (c *clusterOf) statuses(i int) string {
	var list struct {
		Members []struct{ Name, Status string }
	}
	c.nodes[i].client().into("/_members", &list)
	var all []string
	for _, m := range list.Members {
		all = append(all, m.Name+" "+m.Status)
	}
	return strings.Join(all, ", ")
}

// allAlive waits until every node sees every other.
func (c *clusterOf) allAlive() {
	c.t.Helper()
	var want []string
	for i := range c.nodes {
		want = append(want, fmt.Sprintf("node%d alive", i))
	}
	for i := range c.nodes {
		eventually(c.t, "every node sees every other", 20*time.Second, func() bool {
			return c.statuses(i) == strings.Join(want, ", ")
		})
	}
}

func eventually(t *testing.T, what string, atMost time.Duration, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(atMost); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
	}
}

// What is asked of a node by its name, it answers itself, with the rights of who asks.
func TestCluster_NodeByName(t *testing.T) {
	c := newCluster(t, 2)
	c.more = map[int]string{1: "limits: {document: 1000000}\n"}
	c.start(0)
	c.start(1)
	one := c.nodes[0].client()
	eventually(t, "node0 reaches node1", 20*time.Second, func() bool {
		return one.status("GET", "/_node/node1/_system", "") == 200
	})
	for name, want := range map[string]string{"_local": "8000000", "node0": "8000000", "node1": "1000000"} {
		if got := one.ok("GET", "/_node/"+name+"/_config/couchdb/max_document_size", ""); got != want {
			t.Errorf("max_document_size of %s is %v", name, got)
		}
		if got := one.object("GET", "/_node/"+name+"/_config/couchdb", "")["max_document_size"]; got != want {
			t.Errorf("max_document_size in the section of %s is %v", name, got)
		}
	}
	const key = "/_node/node1/_config/jwt_keys/hmac:a%2Fb"
	one.ok("PUT", key, `"YXBwbGU="`)
	if got := one.ok("GET", key, ""); got != "(secret)" {
		t.Errorf("the key is %v", got)
	}
	if old := one.ok("DELETE", key, ""); old != "(secret)" {
		t.Errorf("the key was %v", old)
	}
	one.object("POST", "/_node/node1/_config/_reload", "")
	for path, want := range map[string]int{"couchdb/nonsense": 404, "jwt_keys/hmac:a%2Fb": 404} {
		if got := one.status("GET", "/_node/node1/_config/"+path, ""); got != want {
			t.Errorf("%s: %d", path, got)
		}
	}
	if got := one.status("PUT", "/_node/node1/_config/couchdb/max_document_size", `"7"`); got != 403 {
		t.Errorf("a fixed option: %d", got)
	}
}

// Three nodes on one store: any of them serves any request. One is killed and returns, then the node with the store is
// killed and returns, and no acknowledged write is lost.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	mostlyWaits(t)
	c := startCluster(t, 3)
	const all = "node0 alive, node1 alive, node2 alive"
	c.allAlive()
	one, two, three := c.nodes[0].client(), c.nodes[1].client(), c.nodes[2].client()

	// What one node writes, another one reads, over HTTP and SQL. One revision wins, wherever it was written. A feed on
	// one node is woken by a write on another.
	two.ok("PUT", "/db", "")
	rev := three.object("PUT", "/db/doc", `{"n":1}`)["rev"].(string)
	if got := one.object("GET", "/db/doc", ""); got["_rev"] != rev {
		t.Errorf("node0 has %v, not %s", got, rev)
	}
	statuses := map[int]int{}
	for _, client := range []*client{one, two, three} {
		statuses[client.status("PUT", "/db/doc", `{"n":2,"_rev":"`+rev+`"}`)]++
	}
	if statuses[201] != 1 || statuses[409] != 2 {
		t.Errorf("three edits of one revision answer %v", statuses)
	}
	var id string
	if err := connect(t, c.nodes[2], "db", "me").QueryRow(t.Context(),
		`SELECT id FROM docs WHERE doc->>'n' = '2'`).Scan(&id); err != nil || id != "doc" {
		t.Errorf("SQL on node2 finds %q, %v", id, err)
	}
	two.ok("PUT", "/db/_design/d", `{"views":{"n":{"map":"function (doc) { emit(doc.n) }"}}}`)
	var view viewAnswer
	three.into("/db/_design/d/_view/n?key=2", &view)
	if len(view.Rows) != 1 {
		t.Errorf("the view on node2 has %d rows", len(view.Rows))
	}
	heard := make(chan string, 1)
	feed := three.stream("/db/_changes?feed=longpoll&since=now&timeout=20000")
	go func() {
		defer feed.Close()
		var text [500]byte
		n := 0
		for !strings.Contains(string(text[:n]), "elsewhere") {
			m, err := feed.Read(text[n:])
			if n += m; err != nil {
				break
			}
		}
		heard <- string(text[:n])
	}()
	// so that a wake-up is tested; otherwise the feed would find the write at once
	time.Sleep(100 * time.Millisecond)
	one.ok("PUT", "/db/elsewhere", `{}`)
	if text := <-heard; !strings.Contains(text, `"elsewhere"`) {
		t.Errorf("the feed on node2 says %q", text)
	}

	// An option that one node is given holds on all nodes, also for nodes that start later.
	two.ok("PUT", "/_node/_local/_config/uuids/max_count", `"7"`)
	eventually(t, "node2 heeds an option that was set on node1", 10*time.Second, func() bool {
		return three.status("GET", "/_uuids?count=8", "") == 400
	})
	// Any node passes on what is for another one.
	two.ok("PUT", "/_node/node2/_config/uuids/max_count", `"6"`)
	if got := one.object("GET", "/_node/node2/_stats/couchdb/httpd/requests", ""); got["type"] != "counter" {
		t.Errorf("node0 has as statistics of node2: %v", got)
	}
	if status := one.status("GET", "/_node/nobody/_system", ""); status != 404 {
		t.Errorf("an unknown node: %d", status)
	}

	// A node is killed under load and returns. Writers on other nodes continue.
	var acked atomic.Int64
	stop, writing := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(writing)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if r, err := two.try("PUT", fmt.Sprintf("/db/w%06d", i), `{}`); err == nil && r.status == 201 {
				acked.Add(1)
				// 409: an earlier attempt was written without being acknowledged
			} else if err == nil && r.status != 503 && r.status != 409 {
				t.Errorf("a writer gets %d %s", r.status, r.body)
			}
		}
	}()
	eventually(t, "writes continue", 20*time.Second, func() bool { return acked.Load() > 50 })
	c.nodes[2].kill()
	eventually(t, "the others see that node2 has gone", 20*time.Second, func() bool {
		return strings.Contains(c.statuses(0), "node2 left")
	})
	c.start(2)
	eventually(t, "node2 is back", 20*time.Second, func() bool { return c.statuses(0) == all })

	// The same for the node with the store, if one node has it. The others answer with errors meanwhile, and resume by
	// themselves.
	c.nodes[0].kill()
	want := 503
	if testCluster != "" {
		want = 200
	}
	before := time.Now()
	if r, err := c.nodes[2].client().try("GET", "/db/doc", ""); err != nil || r.status != want {
		t.Errorf("without node0: %d %s, %v", r.status, r.body, err)
	}
	if took := time.Since(before); took > 15*time.Second {
		t.Errorf("the answer without node0 took %v", took)
	}
	c.start(0)
	reached := acked.Load()
	eventually(t, "writes continue after node0 is back", 30*time.Second, func() bool { return acked.Load() > reached+50 })
	close(stop)
	<-writing
	eventually(t, "node2, to which no one writes, can use the store again too", 30*time.Second, func() bool {
		r, err := c.nodes[2].client().try("GET", "/db/doc", "")
		return err == nil && r.status == 200
	})
	var docs struct{ Rows []struct{ ID string } }
	c.nodes[2].client().into(`/db/_all_docs?startkey="w"&endkey="x"`, &docs)
	if int64(len(docs.Rows)) < acked.Load() {
		t.Errorf("%d documents of %d acknowledged ones are there", len(docs.Rows), acked.Load())
	}
	if got := c.nodes[0].client().status("GET", "/_uuids?count=8", ""); got != 400 {
		t.Errorf("after a restart of node0, %d ids are allowed: %d", 8, got)
	}
	// So do admins.
	c.nodes[0].client().ok("PUT", "/_node/_local/_config/admins/root", `"sesame"`)
	eventually(t, "node2 knows the admin", 10*time.Second, func() bool {
		return c.nodes[2].client().status("GET", "/_all_dbs", "") == 401 &&
			c.nodes[2].as("root:sesame").status("GET", "/_all_dbs", "") == 200
	})

	// They stop in time, even the one that has lost its store.
	c.nodes[2].stop(syscall.SIGTERM)
	c.nodes[0].kill()
	c.nodes[1].stop(syscall.SIGTERM)
}

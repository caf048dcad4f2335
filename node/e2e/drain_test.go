package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// roller sends requests to the nodes of a cluster in turn, and repeats a failed one on the others.
type roller struct {
	c       *clusterOf
	clients []*client
	turn    atomic.Int64

	requests, repeated, failed atomic.Int64
	mu                         sync.Mutex
	failures                   []string
}

func newRoller(c *clusterOf) *roller {
	r := &roller{c: c}
	for _, n := range c.nodes {
		r.clients = append(r.clients, n.client())
	}
	return r
}

// do tries f on one node, and after a failure on the others: the next may be the one that is restarted.
func (r *roller) do(what string, f func(node int, again bool) error) {
	first := int(r.turn.Add(1))
	r.requests.Add(1)
	var all error
	for i := range r.clients {
		if i == 1 {
			r.repeated.Add(1)
		}
		err := f((first+i)%len(r.clients), i > 0)
		if err == nil {
			return
		}
		all = errors.Join(all, err)
	}
	r.failed.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf("%s: %v", what, all))
}

// write creates a document. A repeated request may find that the first one has created it.
func (r *roller) write(id string) {
	r.do("PUT "+id, func(node int, again bool) error {
		got, err := r.clients[node].try("PUT", "/db/"+id, `{"x":1}`)
		if err == nil && got.status != 201 && (!again || got.status != 409) {
			err = fmt.Errorf("node %d: %d %s", node, got.status, got.body)
		}
		return err
	})
}

func (r *roller) read(path string) {
	r.do("GET "+path, func(node int, _ bool) error {
		got, err := r.clients[node].try("GET", path, "")
		if err == nil && got.status != 200 {
			err = fmt.Errorf("node %d: %d %s", node, got.status, got.body)
		}
		return err
	})
}

// query uses a new connection, as a pool that has lost one does.
func (r *roller) query() {
	r.do("SELECT", func(node int, _ bool) error {
		ctx := r.c.t.Context()
		conn, err := pgx.Connect(ctx, "postgres://me@"+r.c.nodes[node].ready["sql"]+"/db?connect_timeout=30")
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		var n int
		return conn.QueryRow(ctx, `SELECT count(*) FROM docs WHERE id = 'first'`).Scan(&n)
	})
}

// Three nodes are restarted one after the other under load, that with the store too. A client that repeats a failed
// request on the other nodes sees no failure, and every acknowledged write is there.
func TestDrain_RollingRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := newCluster(t, 3)
	c.http = ", drain: 500ms"
	for i := range 3 {
		c.start(i)
	}
	c.allAlive()
	c.nodes[0].client().ok("PUT", "/db", "")
	c.nodes[0].client().ok("PUT", "/db/first", `{}`)
	r := newRoller(c)
	stop := make(chan struct{})
	var working sync.WaitGroup
	var written atomic.Int64
	forever := func(f func(n int)) {
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					f(n)
				}
			}
		})
	}
	for w := range 2 {
		forever(func(n int) { r.write(fmt.Sprintf("%d-%d", w, n)); written.Add(1) })
	}
	forever(func(int) { r.read("/db/first") })
	forever(func(int) { r.read("/db/_changes?limit=5") })
	forever(func(int) { r.query() })
	for _, i := range []int{2, 1, 0} {
		before := r.requests.Load()
		c.nodes[i].drainAndStop()
		c.start(i)
		c.allAlive()
		if r.requests.Load() == before {
			t.Error("no requests while a node was restarted")
		}
	}
	close(stop)
	working.Wait()
	t.Logf("%d requests, %d of them repeated, %d failed", r.requests.Load(), r.repeated.Load(), r.failed.Load())
	for i, failure := range r.failures {
		if i < 10 {
			t.Error(failure)
		}
	}
	if r.repeated.Load() == 0 {
		t.Error("no request had to be repeated: the test did not restart anything")
	}
	var info struct {
		Docs int64 `json:"doc_count"`
	}
	c.nodes[0].client().into("/db", &info)
	if want := written.Load() + 1 - r.failed.Load(); info.Docs < want {
		t.Errorf("%d documents, but %d writes were acknowledged", info.Docs, want)
	}
}

// While the node with the store is restarted, the requests of another node wait for it: lists and feeds continue after
// their last row, a request for a view goes on waiting for its build. None fails.
func TestDrain_StoreRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	c := newCluster(t, 2)
	for i := range 2 {
		c.start(i)
	}
	c.allAlive()
	const docs = 4000
	one := c.nodes[1].client()
	one.ok("PUT", "/db", "")
	for i := 0; i < docs; i += 1000 {
		var body strings.Builder
		for j := range 1000 {
			fmt.Fprintf(&body, `,{"_id":"d%04d","text":"%0200d"}`, i+j, j)
		}
		one.ok("POST", "/db/_bulk_docs", `{"docs":[`+body.String()[1:]+`]}`)
	}
	stop := make(chan struct{})
	var working sync.WaitGroup
	answers := map[string]*atomic.Int64{}
	forever := func(want int, path func(n int) string) {
		count := &atomic.Int64{}
		answers[path(0)] = count
		cl := c.nodes[1].client()
		working.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				got, err := cl.try("GET", path(n), "")
				if err != nil || got.status != 200 || want > 0 && strings.Count(string(got.body), `"id":"d`) != want {
					t.Errorf("%s: %v, %d %.300s", path(n), err, got.status, got.body)
					return
				}
				count.Add(1)
			}
		})
	}
	always := func(path string) func(int) string { return func(int) string { return path } }
	forever(docs, always("/db/_all_docs?include_docs=true"))
	forever(docs, always("/db/_changes?include_docs=true"))
	forever(0, always("/db/d0000"))
	forever(0, func(n int) string { // each builds another index
		path := fmt.Sprintf("/db/_design/v%d", n)
		_, err := one.try("PUT", path, fmt.Sprintf(
			`{"views":{"v":{"map":"function(doc) { for (var i = 0; i < 3000; i++); emit(%d) }","reduce":"_count"}}}`, n))
		if err != nil {
			t.Error(err)
		}
		return path + "/_view/v"
	})
	for range 2 {
		time.Sleep(time.Second)
		c.nodes[0].stop(syscall.SIGTERM)
		c.start(0)
		c.allAlive()
	}
	for path, count := range answers {
		before := count.Load()
		eventually(t, "answers to "+path, 30*time.Second, func() bool { return count.Load() > before || t.Failed() })
	}
	close(stop)
	working.Wait()
}

// drainAndStop asks a node to stop, and checks that it answers for a while that it is not ready.
func (p *process) drainAndStop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	drained := false
	client := p.client()
	for p.running() {
		ready, err := client.try("GET", "/readyz", "")
		if err != nil {
			break
		}
		if ready.status == http.StatusServiceUnavailable {
			if !strings.Contains(string(ready.body), "drained") {
				p.t.Errorf("readyz: %s", ready.body)
			}
			alive, err := client.try("GET", "/livez", "")
			served, err2 := client.try("GET", "/db/first", "")
			if err == nil && err2 == nil && alive.status == 200 && served.status == 200 {
				drained = true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if !drained {
		p.t.Error("no request was served while readyz was 503")
	}
	if code := p.wait(stopTimeout + 10*time.Second); code != 0 {
		p.t.Errorf("the node exited with %d", code)
	}
}

// An admin drains a node from the console of another one. It gives its changes shards and jobs to others at once, and
// still serves requests.
func TestDrain_FromTheConsole(t *testing.T) {
	c := startCluster(t, 3)
	c.allAlive()
	one, two := c.nodes[0].client(), c.nodes[1].client()
	const databases = 12
	for i := range databases {
		one.ok("PUT", fmt.Sprintf("/db%d", i), "")
		feed := one.stream(fmt.Sprintf("/db%d/_changes?feed=continuous&since=now&heartbeat=1000", i))
		defer feed.Close()
	}
	owners := func() map[string]int {
		var list struct {
			Rows []struct{ Owner, Node string }
		}
		one.into("/_dashboard/api/shards?limit=500", &list)
		found := map[string]int{}
		for _, row := range list.Rows {
			if row.Node == "node0" {
				found[row.Owner]++
			}
		}
		return found
	}
	eventually(t, "node1 owns a shard", 30*time.Second, func() bool {
		o := owners()
		return o["node1"] > 0 && o["node0"]+o["node1"]+o["node2"] == databases
	})
	var token struct{ Token string }
	one.into("/_dashboard/api/token", &token)
	refused := one.do("POST", "/_dashboard/api/act", `{"do":"restart_actor","node":"node1","id":"none"}`, "X-Divan-Token",
		token.Token)
	if !strings.Contains(string(refused.body), `"node1: there is no such actor any more."`) {
		t.Errorf("node1 refuses an action: %d %s", refused.status, refused.body)
	}
	begun := time.Now()
	drain := func(node string) int {
		return one.do("POST", "/_dashboard/api/act", `{"do":"drain","node":"`+node+`"}`, "X-Divan-Token",
			token.Token).status
	}
	if got := drain("node1"); got != 200 {
		t.Fatalf("drain: %d", got)
	}
	eventually(t, "node1 owns no shard any more", 30*time.Second, func() bool {
		o := owners()
		return o["node1"] == 0 && o["node0"]+o["node2"] == databases
	})
	t.Logf("shards handed over in %v", time.Since(begun))
	if got := drain("node1"); got != 409 {
		t.Errorf("drain again: %d", got)
	}
	if got := two.status("GET", "/readyz", ""); got != 503 {
		t.Errorf("readyz of the drained node: %d", got)
	}
	if got := two.status("PUT", "/db0/written", `{}`); got != 201 {
		t.Errorf("a write on the drained node: %d", got)
	}
	if got := two.status("GET", "/db0/_changes?feed=longpoll&since=0", ""); got != 200 {
		t.Errorf("a feed on the drained node: %d", got)
	}
	var nodes struct {
		Nodes []struct{ Name, State string }
	}
	one.into("/_dashboard/api/nodes", &nodes)
	if text := fmt.Sprint(nodes.Nodes); !strings.Contains(text, "{node1 draining}") ||
		!strings.Contains(text, "{node2 ok}") {
		t.Error(text)
	}
	var storage struct {
		Nodes []struct{ Node, Error string }
	}
	one.into("/_dashboard/api/storage", &storage)
	if text := fmt.Sprint(storage.Nodes); !strings.Contains(text, "{node1 }") {
		t.Errorf("the store answers a drained node: %s", text)
	}
	text := fmt.Sprint(one.events(""))
	for _, want := range []string{"node1 is being drained", "node1 drained"} {
		if !strings.Contains(text, want) {
			t.Errorf("no event %q in %s", want, text)
		}
	}
	c.nodes[1].kill() // it has not said that it ends
	eventually(t, "node1 is given up", 30*time.Second, func() bool {
		return c.statuses(0) == "node0 alive, node1 left, "+
			"node2 alive"
	})
	var members struct {
		Members []struct {
			Name    string
			GivenUp bool `json:"given_up"`
		}
	}
	one.into("/_members", &members)
	if got := fmt.Sprint(members.Members); !strings.Contains(got, "{node1 true}") {
		t.Errorf("members: %s", got)
	}
	// Both others are drained at the same moment, and one of them is the last that works.
	var got [2]int
	var draining sync.WaitGroup
	for i, name := range []string{"node0", "node2"} {
		draining.Go(func() { got[i] = drain(name) })
	}
	draining.Wait()
	last := slices.Index(got[:], 409)
	if last < 0 || got[1-last] != 200 {
		t.Fatalf("drains of the last two nodes: %v", got)
	}
	name, other := []string{"node0", "node2"}[last], []string{"node0", "node2"}[1-last]
	eventually(t, "node0 sees that one is drained", 10*time.Second, func() bool {
		one.into("/_dashboard/api/nodes", &nodes)
		return strings.Contains(fmt.Sprint(nodes.Nodes), "{"+other+" draining}")
	})
	if got := drain(name); got != 409 {
		t.Errorf("drain of the last node that works: %d", got)
	}
	if got := c.nodes[2*last].client().status("GET", "/readyz", ""); got != 200 {
		t.Errorf("readyz of the node that works: %d", got)
	}
}

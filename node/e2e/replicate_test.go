package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scheduled is a row of /_scheduler/docs.
type scheduled struct {
	DocID string `json:"doc_id"`
	State string
	Node  string
	Info  json.RawMessage
}

func (c *client) scheduled() map[string]scheduled {
	c.t.Helper()
	var list struct{ Docs []scheduled }
	c.into("/_scheduler/docs", &list)
	rows := map[string]scheduled{}
	for _, d := range list.Docs {
		rows[d.DocID] = d
	}
	return rows
}

// fill writes documents n to m-1 to a database.
func (c *client) fill(db string, n, m int) {
	c.t.Helper()
	var text strings.Builder
	for j := n; j < m; j++ {
		fmt.Fprintf(&text, `,{"_id":"doc-%06d","n":%d,"text":%q}`, j, j, strings.Repeat("x", 200))
	}
	c.ok("POST", "/"+db+"/_bulk_docs", `{"docs":[`+text.String()[1:]+`]}`)
}

func (c *client) count(db string) int {
	var info struct {
		Count int `json:"doc_count"`
	}
	c.into("/"+db, &info)
	return info.Count
}

func (c *client) jobs() int {
	var list struct {
		Total int `json:"total_rows"`
	}
	c.into("/_scheduler/jobs", &list)
	return list.Total
}

// Replications between two nodes that share nothing: once, both ways, continuous, with attachments, and from and to
// databases of the node that runs them.
func TestReplicate(t *testing.T) {
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	from, to := a.client(), b.client()
	from.ok("PUT", "/db?changes_shards=4", "")
	from.ok("PUT", "/_users/_design/_auth", `{"language":"javascript"}`) // as a CouchDB has it
	from.fill("db", 0, 2000)
	rev := from.object("PUT", "/db/with", `{"kept":1}`)["rev"].(string)
	big := strings.Repeat("0123456789", 300_000)
	if r := from.do("PUT", "/db/with/big?rev="+rev, big, "Content-Type", "application/octet-stream"); r.status != 201 {
		t.Fatalf("attachment: %d", r.status)
	}
	from.ok("PUT", "/db/_design/d", `{"filters":{"f":"function(doc, req) { return doc.n < req.query.most }"}}`)
	once := to.object("POST", "/_replicate",
		fmt.Sprintf(`{"source":%q,"target":"db","create_target":true}`, a.http()+"/db"))
	h := once["history"].([]any)[0].(map[string]any)
	if fmt.Sprintf("%v %v", h["docs_written"], h["doc_write_failures"]) != "2002 0" {
		t.Errorf("history: %v", h)
	}
	if got := to.do("GET", "/db/with/big", ""); string(got.body) != big {
		t.Error("the attachment differs")
	}
	to.object("POST", "/_replicate", fmt.Sprintf(
		`{"source":"db","target":%q,"create_target":true,"filter":"d/f","query_params":{"most":"100"}}`, a.http()+"/few"))
	if n := from.count("few"); n != 100 {
		t.Errorf("%d documents pass the filter", n)
	}
	to.ok("PUT", "/_replicator", "")
	to.ok("PUT", "/_replicator/follow", fmt.Sprintf(`{"source":%q,"target":"db","continuous":true}`, a.http()+"/db"))
	to.ok("PUT", "/_replicator/back", fmt.Sprintf(`{"source":"db","target":%q,"continuous":true}`, a.http()+"/db"))
	to.ok("PUT", "/_replicator/once", `{"source":"db","target":"copy","create_target":true}`)
	from.ok("PUT", "/db/there", "{}")
	to.ok("PUT", "/db/back", "{}")
	eventually(t, "both changes arrive", 20*time.Second, func() bool {
		return to.status("GET", "/db/there", "") == 200 && from.status("GET", "/db/back", "") == 200 &&
			to.object("GET", "/_replicator/once", "")["_replication_state"] == "completed"
	})
	if to.count("copy") < 2002 {
		t.Errorf("the copy has %d documents", to.count("copy"))
	}
	eventually(t, "two jobs are left", 10*time.Second, func() bool { return to.jobs() == 2 })
	var list struct {
		Rows []struct {
			Document, State, Source, Node, Error string
			Continuous                           bool
			Written                              int
		}
		Note string
	}
	to.into("/_dashboard/api/replications?sort=document", &list)
	if len(list.Rows) != 3 || list.Rows[0].Document != "back" || list.Rows[1].State != "running" ||
		list.Rows[1].Source != a.http()+"/db/" || !list.Rows[1].Continuous || list.Rows[1].Node != b.ready["name"] ||
		list.Rows[2].State != "completed" || list.Rows[2].Written < 2002 || list.Note != "2 running, 1 completed" {
		t.Errorf("the console lists %+v", list)
	}
	to.ok("PUT", "/x%2F_replicator", "")
	to.ok("PUT", "/x%2F_replicator/bad", `{"_replication_state":"failed","_replication_state_reason":"no such filter"}`)
	eventually(t, "the console says why a replication has failed", 20*time.Second, func() bool {
		to.into("/_dashboard/api/replications?search=failed", &list)
		return len(list.Rows) == 1 && list.Rows[0].Error == "no such filter" &&
			list.Note == "2 running, 1 failed, 1 completed"
	})
	doc := to.object("GET", "/_replicator/follow", "")
	to.ok("DELETE", "/_replicator/follow?rev="+doc["_rev"].(string), "")
	eventually(t, "the replication of a deleted document ends", 10*time.Second, func() bool {
		return to.jobs() == 1
	})
	to.ok("PUT", "/_replicator/unreached", `{"source":"http://127.0.0.1:1/db","target":"db","continuous":true}`)
	eventually(t, "a replication has failed", 40*time.Second, func() bool {
		return to.scheduled()["unreached"].State == "crashing"
	})
	to.ok("DELETE", "/_replicator", "")
	to.ok("PUT", "/_replicator", "") // without its documents
	eventually(t, "those of a deleted database end, also one that waits for its next attempt", 20*time.Second,
		func() bool { return to.jobs() == 0 })
}

// The first replication document creates its database, and before that the lists are empty. While the replication runs,
// they have the changes that are left; once it is complete, nothing is left of that.
func TestReplicate_firstDocument(t *testing.T) {
	node := start(t, t.TempDir())
	c := node.client()
	for _, path := range []string{"/_scheduler/docs", "/_scheduler/docs/_replicator"} {
		if list := c.object("GET", path, ""); fmt.Sprintf("%v %v", list["total_rows"], list["docs"]) != "0 []" {
			t.Errorf("%s: %v", path, list)
		}
	}
	for _, path := range []string{"/_scheduler/docs/_replicator/once", "/_scheduler/docs/x%2F_replicator"} {
		if status := c.status("GET", path, ""); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
	c.ok("PUT", "/db", "")
	c.fill("db", 0, 100)
	to, err := url.Parse(node.http())
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}
	shown := make(chan struct{}) // closed when the figures were seen
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_bulk_get") {
			select {
			case <-shown:
			case <-r.Context().Done():
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { source.CloseClientConnections(); source.Close() })
	c.ok("PUT", "/_replicator/once", fmt.Sprintf(`{"source":%q,"target":"copy","create_target":true}`,
		source.URL+"/db"))
	pending := func() any {
		info, _ := c.object("GET", "/_scheduler/docs/_replicator/once", "")["info"].(map[string]any)
		return info["changes_pending"]
	}
	eventually(t, "the changes that are left are shown", 20*time.Second, func() bool { return pending() != nil })
	close(shown)
	eventually(t, "it is complete", 20*time.Second, func() bool {
		return c.object("GET", "/_scheduler/docs/_replicator/once", "")["state"] == "completed"
	})
	if n := pending(); n != nil || c.count("copy") != 100 {
		t.Errorf("when it is complete, %v changes are left, and there are %d documents", n, c.count("copy"))
	}
}

// A request for a replication that a document asks for too, and that fails again and again, ends with the failure.
func TestReplicate_sameAsDocument(t *testing.T) {
	mostlyWaits(t)
	node := start(t, t.TempDir())
	c := node.client()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	const options = `"connection_timeout":1000,"retries_per_request":1`
	spec := fmt.Sprintf(`{"source":%q,"target":"db","create_target":true,%s}`, closed.URL+"/db", options)
	c.ok("PUT", "/_replicator", "")
	c.ok("PUT", "/_replicator/broken", spec)
	eventually(t, "the document's replication has failed", 20*time.Second, func() bool {
		got := c.scheduled()["broken"]
		return got.State == "crashing" && strings.Contains(string(got.Info), "http_request_failed")
	})
	r := c.do("POST", "/_replicate", spec)
	if r.status != 500 || !strings.Contains(string(r.body), "http_request_failed") {
		t.Errorf("the same again: %d %s", r.status, r.body)
	}
}

// Who cancels the replication that a document asked for before it was edited does not end the one that it asks for now.
func TestReplicate_cancelOfBefore(t *testing.T) {
	node := start(t, t.TempDir())
	c := node.client()
	c.ok("PUT", "/from", "")
	c.ok("PUT", "/from/a", "{}")
	c.ok("PUT", "/_replicator", "")
	for round := range 10 {
		id := fmt.Sprintf("/_replicator/r%d", round)
		describe := func(target string) string {
			return fmt.Sprintf(`{"source":"from","target":"%s-%d","create_target":true,"continuous":true`, target, round)
		}
		rev := c.object("PUT", id, describe("one")+"}")["rev"].(string)
		var jobs struct {
			Jobs []struct {
				ID    string
				DocID string `json:"doc_id"`
			}
		}
		before := ""
		eventually(t, "the first replication runs", 10*time.Second, func() bool {
			c.into("/_scheduler/jobs?limit=1000", &jobs)
			for _, j := range jobs.Jobs {
				if "/_replicator/"+j.DocID == id {
					before = j.ID
				}
			}
			return before != "" && c.status("GET", fmt.Sprintf("/one-%d/a", round), "") == 200
		})
		c.ok("PUT", id, fmt.Sprintf(`%s,"_rev":%q}`, describe("two"), rev))
		// 404 if it has ended by itself already.
		r := c.do("POST", "/_replicate", fmt.Sprintf(`{"replication_id":%q,"cancel":true}`, before))
		if r.status != 200 && r.status != 404 {
			t.Fatalf("cancel: %d %s", r.status, r.body)
		}
		eventually(t, "the document's other replication runs", 10*time.Second, func() bool {
			return c.status("GET", fmt.Sprintf("/two-%d/a", round), "") == 200
		})
	}
	// One that was not edited ends.
	r := c.do("POST", "/_replicate", `{"source":"from","target":"two-0","create_target":true,"continuous":true,"cancel":true}`)
	if r.status != 200 {
		t.Fatalf("cancel: %d %s", r.status, r.body)
	}
	if n := c.jobs(); n != 9 {
		t.Errorf("%d jobs after one of 10 was cancelled", n)
	}
}

// A node of a cluster is killed while it replicates: another goes on from the checkpoint, and nothing is lost. When the
// node is back, it gets its share of the replications.
func TestReplicate_NodeDies(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	source := start(t, t.TempDir())
	from := source.client()
	from.ok("PUT", "/db", "")
	from.fill("db", 0, 1000)
	c := newCluster(t, 2)
	const more = "replicator: {checkpoint_interval: 1s, interval: 2s}\n"
	c.more = map[int]string{0: more, 1: more}
	for i := range 2 {
		c.start(i)
	}
	c.allAlive()
	one := c.nodes[0].client()
	one.ok("PUT", "/_replicator", "")
	const jobs = 8
	for i := range jobs {
		one.ok("PUT", fmt.Sprint("/_replicator/r", i), fmt.Sprintf(
			`{"source":%q,"target":"t%d","create_target":true,"continuous":true}`, source.http()+"/db", i))
	}
	on := func(node string) (n int) {
		for _, d := range one.scheduled() {
			if d.State == "running" && d.Node == node {
				n++
			}
		}
		return n
	}
	eventually(t, "both nodes replicate", 30*time.Second, func() bool {
		return on("node0")+on("node1") == jobs && on("node1") > 0
	})
	from.fill("db", 1000, 1500)
	c.nodes[1].kill()
	from.fill("db", 1500, 2000)
	eventually(t, "the other node replicates all", 30*time.Second, func() bool { return on("node0") == jobs })
	arrive := func(documents int) {
		t.Helper()
		eventually(t, "all documents arrive", 60*time.Second, func() bool {
			for i := range jobs {
				if one.count(fmt.Sprint("t", i)) != documents {
					return false
				}
			}
			return true
		})
	}
	arrive(2000)
	for _, how := range []string{"after it died", "after it was stopped", "again"} {
		c.start(1)
		eventually(t, "the node that is back gets its share "+how, 30*time.Second, func() bool {
			return on("node0")+on("node1") == jobs && on("node1") > 0
		})
		if how != "again" {
			c.nodes[1].stop(syscall.SIGTERM)
		}
	}
	from.fill("db", 2000, 2500)
	arrive(2500)
}

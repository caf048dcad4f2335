package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The first index of a database with four shards is built by three nodes. One of them is killed in the middle of its
// shards, and the others continue.
func TestIndexBuild_SharedAndANodeKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	c := startCluster(t, 3)
	c.allAlive()
	one := c.nodes[0].client()
	name := "" // of a database with shards on node2, but not all on node0
	for i := 0; name == ""; i++ {
		db := fmt.Sprint("db", i)
		one.ok("PUT", "/"+db+"?changes_shards=4", "")
		owners := map[string]int{}
		rows, err := connect(t, c.nodes[0], db, "me").Query(t.Context(), `SELECT node FROM divan.shards`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var node string
			if err := rows.Scan(&node); err != nil {
				t.Fatal(err)
			}
			owners[node]++
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		if owners["node2"] > 0 && owners["node1"] > 0 {
			name = db
		}
	}
	const batch = 2000
	docs := 40_000
	if testCluster != "" { // a cluster in tests is slow; builds are shared from 10,000 changes on
		docs = 14_000
	}
	for i := 0; i < docs; i += batch {
		var text strings.Builder
		for j := i; j < i+batch; j++ {
			fmt.Fprintf(&text, `,{"_id":"doc-%06d","n":%d,"text":"some words that make the document a little longer"}`,
				j, j)
		}
		one.ok("POST", "/"+name+"/_bulk_docs", `{"docs":[`+text.String()[1:]+`]}`)
	}
	one.ok("PUT", "/"+name+"/_design/d",
		`{"views":{"n":{"map":"function (doc) { for (var i = 0; i < 3; i++) emit([i, doc.n], doc.text); }"}}}`)
	type answer struct {
		reply
		err error
	}
	built := make(chan answer, 1)
	go func() {
		for began := time.Now(); ; {
			r, err := one.try("GET", "/"+name+"/_design/d/_view/n?limit=1", "")
			if err == nil || time.Since(began) > 2*time.Minute { // the client may time out before the build is done
				built <- answer{r, err}
				return
			}
		}
	}()
	eventually(t, "node2 works on a shard", 60*time.Second, func() bool {
		var tasks []struct {
			Shard string
			Node  string
			Done  int `json:"changes_done"`
		}
		c.nodes[2].client().into("/_active_tasks", &tasks)
		for _, task := range tasks {
			if task.Node == "node2" && task.Shard != "" && task.Done > 0 {
				return true
			}
		}
		select {
		case a := <-built:
			t.Fatalf("the build was finished before node2 had begun: %d %s, %v", a.status, a.body, a.err)
		default:
		}
		return false
	})
	began := time.Now()
	c.nodes[2].kill()
	select {
	case a := <-built:
		if a.err != nil || a.status != 200 ||
			!strings.Contains(string(a.body), fmt.Sprintf(`"total_rows":%d`, 3*docs)) {
			t.Fatalf("the view answers %d %s, %v", a.status, a.body, a.err)
		}
		t.Logf("%v after a node was killed", time.Since(began))
	case <-time.After(3 * time.Minute):
		t.Fatal("the build did not end after a node was killed")
	}
	for i, at := range []int{0, docs / 2, docs - 1} { // one from each third of the rows
		var view viewAnswer
		c.nodes[1].client().into(fmt.Sprintf("/%s/_design/d/_view/n?key=[%d,%d]", name, i, at), &view)
		if len(view.Rows) != 1 {
			t.Errorf("%d rows of document %d", len(view.Rows), at)
		}
	}
}

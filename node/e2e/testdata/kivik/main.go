// The tour of kivik's documentation: every kind of call of a CouchDB client for Go. Arguments: the URL of a server with
// an admin's name and password, and a prefix for the names of databases. It prints what it saw.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-kivik/kivik/v4"
	_ "github.com/go-kivik/kivik/v4/couchdb" // the driver
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client, err := kivik.New("couch", os.Args[1])
	must(err)
	t := tour{ctx, client, os.Args[1], os.Args[2]}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"server", t.server}, {"documents", t.documents}, {"attachments", t.attachments}, {"views", t.views},
		{"queries", t.queries}, {"changes", t.changes}, {"replication", t.replication}, {"rest", t.rest},
	} {
		step.do()
		fmt.Println(step.name)
	}
	must(client.Close())
}

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("%v (HTTP status %d)", err, kivik.HTTPStatus(err)))
	}
}

func check(ok bool, saw ...any) {
	if !ok {
		panic(fmt.Sprint(saw...))
	}
}

type tour struct {
	ctx    context.Context
	client *kivik.Client
	url    string
	prefix string
}

// db creates a database.
func (t *tour) db(name string, o ...kivik.Option) *kivik.DB {
	must(t.client.CreateDB(t.ctx, t.prefix+name, o...))
	return t.client.DB(t.prefix + name)
}

func (t *tour) server() {
	v, err := t.client.Version(t.ctx)
	must(err)
	check(strings.HasPrefix(v.Version, "3."), v)
	up, err := t.client.Ping(t.ctx)
	must(err)
	check(up)
	session, err := t.client.Session(t.ctx)
	must(err)
	check(slices.Contains(session.Roles, "_admin"), session)
	members, err := t.client.Membership(t.ctx)
	must(err)
	check(len(members.AllNodes) == 1, members)
	_, err = t.client.ClusterStatus(t.ctx)
	must(err)
	config, err := t.client.Config(t.ctx, "_local")
	must(err)
	check(len(config["couchdb"]) > 0, config)
	old, err := t.client.SetConfigValue(t.ctx, "_local", "cors", "max_age", "1234")
	must(err)
	value, err := t.client.ConfigValue(t.ctx, "_local", "cors", "max_age")
	must(err)
	check(value == "1234", value)
	if old == "" {
		_, err = t.client.DeleteConfigKey(t.ctx, "_local", "cors", "max_age")
	} else {
		_, err = t.client.SetConfigValue(t.ctx, "_local", "cors", "max_age", old)
	}
	must(err)
	t.db("server")
	dbs, err := t.client.AllDBs(t.ctx)
	must(err)
	check(slices.Contains(dbs, t.prefix+"server"), dbs)
	exists, err := t.client.DBExists(t.ctx, t.prefix+"server")
	must(err)
	check(exists)
	check(kivik.HTTPStatus(t.client.CreateDB(t.ctx, t.prefix+"server")) == http.StatusPreconditionFailed)
	stats, err := t.client.DBsStats(t.ctx, []string{t.prefix + "server", t.prefix + "none"})
	must(err)
	check(len(stats) == 2 && stats[0].Name == t.prefix+"server" && stats[1] == nil, stats)
	all, err := t.client.AllDBsStats(t.ctx)
	must(err)
	check(len(all) == len(dbs), len(all))
	must(t.client.DestroyDB(t.ctx, t.prefix+"server"))
	exists, err = t.client.DBExists(t.ctx, t.prefix+"server")
	must(err)
	check(!exists)
}

type animal struct {
	ID       string `json:"_id,omitempty"`
	Rev      string `json:"_rev,omitempty"`
	Feet     int    `json:"feet"`
	Greeting string `json:"greeting"`
}

func (t *tour) documents() {
	db := t.db("animals")
	rev, err := db.Put(t.ctx, "cow", animal{ID: "cow", Feet: 4, Greeting: "moo"})
	must(err)
	var cow animal
	must(db.Get(t.ctx, "cow").ScanDoc(&cow))
	check(cow.Greeting == "moo" && cow.Rev == rev, cow)
	_, err = db.Put(t.ctx, "cow", animal{Feet: 5})
	check(kivik.HTTPStatus(err) == http.StatusConflict, err)
	cow.Greeting = "Moo!"
	second, err := db.Put(t.ctx, "cow", cow)
	must(err)
	head, err := db.GetRev(t.ctx, "cow")
	must(err)
	check(head == second, head)
	must(db.Get(t.ctx, "cow", kivik.Rev(rev)).ScanDoc(&cow))
	check(cow.Greeting == "moo", cow)
	id, chosen, err := db.CreateDoc(t.ctx, animal{Feet: 2, Greeting: "quack"})
	must(err)
	check(len(id) == 32, id)
	_, err = db.Delete(t.ctx, id, chosen) // it could be anywhere among the others
	must(err)
	_, err = db.Put(t.ctx, "bee", animal{ID: "bee", Feet: 6})
	must(err)
	_, err = db.Copy(t.ctx, "calf", "cow")
	must(err)
	gone, err := db.Delete(t.ctx, "cow", second)
	must(err)
	err = db.Get(t.ctx, "cow").Err()
	check(kivik.HTTPStatus(err) == http.StatusNotFound, err)
	results, err := db.BulkDocs(t.ctx, []any{animal{ID: "hen", Feet: 2}, animal{ID: "calf", Feet: 4},
		animal{ID: "pig", Feet: 4}})
	must(err)
	check(len(results) == 3 && results[0].Error == nil &&
		kivik.HTTPStatus(results[1].Error) == http.StatusConflict, results)
	rows := db.AllDocs(t.ctx, kivik.IncludeDocs(), kivik.Params(map[string]any{"startkey": "calf", "endkey": "hen"}))
	n := 0
	for rows.Next() {
		var a animal
		must(rows.ScanDoc(&a))
		n++
	}
	must(rows.Err())
	meta, err := rows.Metadata()
	must(err)
	check(n == 2 && meta.TotalRows == 4 && meta.Offset == 1, n, meta)
	get := db.BulkGet(t.ctx, []kivik.BulkGetReference{{ID: "hen"}, {ID: "none"}})
	n = 0
	for get.Next() {
		n++
	}
	must(get.Err())
	check(n == 2, n)
	revs := db.OpenRevs(t.ctx, "cow", []string{gone, second})
	for revs.Next() {
		n++
	}
	must(revs.Err())
	check(n == 4, n)
	diff := db.RevsDiff(t.ctx, map[string][]string{"cow": {gone, "9-f"}})
	check(diff.Next())
	var missing kivik.RevDiff
	must(diff.ScanValue(&missing))
	check(slices.Equal(missing.Missing, []string{"9-f"}), missing)
	must(diff.Close())
	purged, err := db.Purge(t.ctx, map[string][]string{"cow": {gone}})
	must(err)
	check(len(purged.Purged["cow"]) == 1, purged)
	_, err = db.Put(t.ctx, "_local/mark", map[string]any{"at": 1})
	must(err)
	local := db.LocalDocs(t.ctx)
	check(local.Next())
	must(local.Close())
	must(db.Flush(t.ctx))
	must(db.Compact(t.ctx))
	info, err := db.Stats(t.ctx)
	must(err)
	check(info.DocCount == 4 && info.UpdateSeq != "" && info.ExternalSize > 0 && info.ActiveSize > 0 && info.DiskSize > 0,
		info)
}

func (t *tour) attachments() {
	db := t.db("files")
	body := strings.Repeat("hello ", 1000)
	rev, err := db.PutAttachment(t.ctx, "doc", &kivik.Attachment{Filename: "a.txt", ContentType: "text/plain",
		Content: io.NopCloser(strings.NewReader(body))})
	must(err)
	att, err := db.GetAttachment(t.ctx, "doc", "a.txt")
	must(err)
	text, err := io.ReadAll(att.Content)
	must(err)
	check(string(text) == body && att.ContentType == "text/plain", len(text), att.ContentType)
	meta, err := db.GetAttachmentMeta(t.ctx, "doc", "a.txt")
	must(err)
	check(meta.Digest != "" && meta.ContentType == "text/plain", meta)
	files := kivik.Attachments{"b.bin": {Filename: "b.bin", ContentType: "application/octet-stream",
		Content: io.NopCloser(strings.NewReader("\x00\x01\x02"))}}
	rev, err = db.Put(t.ctx, "doc", map[string]any{"_id": "doc", "_rev": rev, "_attachments": &files})
	must(err)
	doc := db.Get(t.ctx, "doc", kivik.IncludeDocs(), kivik.Param("attachments", true))
	must(doc.Err())
	list, err := doc.Attachments()
	must(err)
	first, err := list.Next()
	must(err)
	text, err = io.ReadAll(first.Content)
	must(err)
	check(first.Filename == "b.bin" && string(text) == "\x00\x01\x02", first.Filename, text)
	_, err = list.Next()
	check(errors.Is(err, io.EOF), err)
	_, err = db.DeleteAttachment(t.ctx, "doc", rev, "b.bin")
	must(err)
}

func (t *tour) views() {
	db := t.db("views")
	for i := range 20 {
		_, err := db.Put(t.ctx, fmt.Sprintf("d%02d", i), map[string]any{"n": i})
		must(err)
	}
	_, err := db.Put(t.ctx, "_design/d", map[string]any{
		"views": map[string]any{"n": map[string]string{"map": "function (doc) { emit(doc.n % 4, doc.n) }",
			"reduce": "_sum"}},
		"updates": map[string]string{"set": "function (doc, req) { doc.m = 7; return [doc, '{}'] }"},
	})
	must(err)
	rows := db.Query(t.ctx, "_design/d", "_view/n", kivik.Params(map[string]any{"group": true}))
	sum := 0
	for rows.Next() {
		var n int
		must(rows.ScanValue(&n))
		sum += n
	}
	must(rows.Err())
	check(sum == 190, sum)
	rows = db.Query(t.ctx, "d", "n", kivik.Params(map[string]any{"reduce": false, "key": 2, "include_docs": true,
		"update_seq": true}))
	n := 0
	for rows.Next() {
		var doc struct{ N int }
		must(rows.ScanDoc(&doc))
		check(doc.N%4 == 2, doc)
		n++
	}
	must(rows.Err())
	meta, err := rows.Metadata()
	must(err)
	check(n == 5 && meta.TotalRows == 20 && meta.Offset == 10 && meta.UpdateSeq != "", n, meta)
	many := db.Query(t.ctx, "d", "n", kivik.Param("queries", []any{map[string]any{"key": 1, "reduce": false},
		map[string]any{"key": 3, "reduce": false}}))
	n = 0
	for many.NextResultSet() {
		for many.Next() {
			n++
		}
	}
	must(many.Err())
	check(n == 10, n)
	_, err = db.Update(t.ctx, "d", "set", "d01", map[string]int{"m": 7})
	must(err)
	var doc struct{ M int }
	must(db.Get(t.ctx, "d01").ScanDoc(&doc))
	check(doc.M == 7, doc)
	designs := db.DesignDocs(t.ctx)
	check(designs.Next())
	must(designs.Close())
	must(db.CompactView(t.ctx, "d"))
	must(db.ViewCleanup(t.ctx))
}

func (t *tour) queries() {
	db := t.db("queries")
	for i := range 20 {
		_, err := db.Put(t.ctx, fmt.Sprintf("d%02d", i), map[string]any{"n": i})
		must(err)
	}
	must(db.CreateIndex(t.ctx, "by", "n", map[string]any{"fields": []string{"n"}}))
	indexes, err := db.GetIndexes(t.ctx)
	must(err)
	check(len(indexes) == 2 && indexes[1].DesignDoc == "_design/by", indexes)
	query := map[string]any{"selector": map[string]any{"n": map[string]any{"$gte": 15}}, "sort": []any{"n"}, "limit": 3}
	rows := db.Find(t.ctx, query)
	var got []int
	for rows.Next() {
		var doc struct{ N int }
		must(rows.ScanDoc(&doc))
		got = append(got, doc.N)
	}
	must(rows.Err())
	meta, err := rows.Metadata()
	must(err)
	check(slices.Equal(got, []int{15, 16, 17}) && meta.Bookmark != "", got, meta)
	query["bookmark"] = meta.Bookmark
	rows = db.Find(t.ctx, query)
	check(rows.Next())
	must(rows.Close())
	plan, err := db.Explain(t.ctx, query)
	must(err)
	check(plan.Index["name"] == "n", plan.Index)
	must(db.DeleteIndex(t.ctx, "by", "n"))
	parts := t.db("parts", kivik.Param("partitioned", true))
	_, err = parts.Put(t.ctx, "a:1", map[string]int{"n": 1})
	must(err)
	stats, err := parts.PartitionStats(t.ctx, "a")
	must(err)
	check(stats.DocCount == 1 && stats.Partition == "a", stats)
	found := parts.Find(t.ctx, `{"selector":{"n":1}}`, kivik.Param("partition", "a"))
	check(found.Next())
	must(found.Close())
}

func (t *tour) changes() {
	for _, name := range []string{"_global_changes", "_replicator"} {
		if err := t.client.CreateDB(t.ctx, name); kivik.HTTPStatus(err) != http.StatusPreconditionFailed {
			must(err)
		}
	}
	db := t.db("changes")
	feed := db.Changes(t.ctx, kivik.Params(map[string]any{"feed": "continuous", "since": "now", "heartbeat": 1000,
		"include_docs": true}))
	must(feed.Err())
	go func() { _, _ = db.Put(t.ctx, "new", map[string]int{"n": 1}) }()
	check(feed.Next(), feed.Err())
	var doc struct{ N int }
	must(feed.ScanDoc(&doc))
	check(feed.ID() == "new" && doc.N == 1 && len(feed.Changes()) == 1 && feed.Seq() != "", feed.ID(), doc)
	must(feed.Close())
	normal := db.Changes(t.ctx)
	for normal.Next() {
	}
	must(normal.Err())
	meta, err := normal.Metadata()
	must(err)
	check(meta.LastSeq != "" && meta.Pending == 0, meta)
	updates := t.client.DBUpdates(t.ctx, kivik.Params(map[string]any{"feed": "continuous", "since": "now"}))
	must(updates.Err())
	go func() { _ = t.client.CreateDB(t.ctx, t.prefix+"updated") }()
	for updates.Next() {
		if updates.DBName() == t.prefix+"updated" {
			check(updates.Type() == "created", updates.Type())
			break
		}
	}
	must(updates.Close())
}

func (t *tour) replication() {
	r, err := t.client.Replicate(t.ctx, t.url+t.prefix+"copy", t.url+t.prefix+"animals",
		kivik.Params(map[string]any{"create_target": true, "_id": t.prefix + "job"}))
	must(err)
	for r.IsActive() {
		must(r.Update(t.ctx))
		time.Sleep(50 * time.Millisecond)
	}
	must(r.Err())
	check(r.State() == kivik.ReplicationComplete && r.DocsWritten() == 5, r.State(), r.DocsWritten())
	info, err := t.client.DB(t.prefix + "copy").Stats(t.ctx)
	must(err)
	check(info.DocCount == 4, info)
	list, err := t.client.GetReplications(t.ctx)
	must(err)
	check(len(list) > 0, list)
	must(r.Delete(t.ctx))
}

func (t *tour) rest() {
	db := t.client.DB(t.prefix + "animals")
	must(db.SetSecurity(t.ctx, &kivik.Security{Admins: kivik.Members{Names: []string{"anna"}},
		Members: kivik.Members{Roles: []string{"farmers"}}}))
	security, err := db.Security(t.ctx)
	must(err)
	check(slices.Equal(security.Admins.Names, []string{"anna"}) &&
		slices.Equal(security.Members.Roles, []string{"farmers"}), security)
	check(db.Client() == t.client)
	must(db.Close())
}

package replicate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/replicate/spec"
)

// listed returns what a list has now, a line for each replication, and whether some were not read.
func listed(t *testing.T, m *Manager) (lines string, unread bool) {
	t.Helper()
	m.listing.at, m.listing.named = time.Time{}, time.Time{}
	list, err := m.View().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range list.All {
		if r.State == Initializing { // the job of a document that is gone: no node is here to end it
			continue
		}
		all = append(all, strings.TrimSpace(fmt.Sprint(r.Database, " ", r.Document, " ", r.State, " ", r.Reason)))
	}
	slices.Sort(all)
	return strings.Join(all, "\n"), list.Unread
}

// A list has what waits, and what has ended as long as its document is there, of all _replicator databases.
func TestView_List(t *testing.T) {
	s := openStore(t)
	m := New(Options{Store: s, Node: "n", Settings: func() Settings {
		return Settings{Defaults: spec.Defaults{Protocols: []string{"http"}}}
	}})
	expect := func(when string, want ...string) {
		t.Helper()
		if got, unread := listed(t, m); got != strings.Join(want, "\n") || unread {
			t.Errorf("%s, the list is\n%s\nunread: %v", when, got, unread)
		}
	}
	expect("at first")
	create := func(name string) *layer.Database {
		t.Helper()
		db, err := s.Create(t.Context(), name, layer.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	revs := map[string]layer.Rev{}
	write := func(db *layer.Database, id, more string, deleted bool) {
		t.Helper()
		rev, err := db.Put(t.Context(), layer.Edit{ID: id, Rev: revs[id], Deleted: deleted,
			Body: []byte(`{"source":"http://u:secret@a/x","target":"y"` + more + `}`)}, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		revs[id] = rev
	}
	const completed = `,"_replication_state":"completed","_replication_state_time":"2026-11-30T01:02:03Z",` +
		`"_replication_stats":{"docs_read":7,"docs_written":5,"doc_write_failures":2,` +
		`"start_time":"2026-11-30T01:00:00Z"}`
	one, two := create("_replicator"), create("x/_replicator")
	write(one, "waits", "", false)
	write(one, "_design/d", completed, false)
	write(two, "done", completed, false)
	write(two, "failed", `,"_replication_state":"failed","_replication_state_reason":"no such database"`, false)
	rows := []string{"_replicator waits pending", "x/_replicator done completed",
		"x/_replicator failed failed no such database"}
	expect("in the beginning", rows...)
	i := slices.IndexFunc(m.listing.last.All, func(r *Listed) bool { return r.Document == "done" })
	done := m.listing.last.All[i]
	if done.Source != "http://a/x/" || done.Read != 7 || done.Written != 5 || done.Failed != 2 ||
		done.Changed.Format(time.TimeOnly) != "01:02:03" || done.Began.Format(time.TimeOnly) != "01:00:00" {
		t.Errorf("what is complete is listed as %+v", done)
	}

	// Who asks within a second gets the same list, and who asks later reads what has changed only.
	before := m.listing.at
	if _, err := m.View().List(t.Context()); err != nil || m.listing.at != before {
		t.Errorf("it is read again at once: %v", err)
	}
	expect("again", rows...)
	if i := slices.Index(m.listing.last.All, done); i < 0 {
		t.Error("what has not changed was read again")
	}

	write(two, "failed", "", false) // it begins again
	write(one, "waits", completed, false)
	expect("after changes", "_replicator waits completed", "x/_replicator done completed",
		"x/_replicator failed pending")
	write(two, "done", "", true)
	write(two, "failed", completed, false)
	expect("after a deletion", "_replicator waits completed", "x/_replicator failed completed")
	if _, err := two.Purge(t.Context(), "failed", []layer.Rev{revs["failed"]}); err != nil {
		t.Fatal(err)
	}
	expect("after a purge", "_replicator waits completed")
	if err := s.Delete(t.Context(), "_replicator"); err != nil {
		t.Fatal(err)
	}
	create("_replicator")
	expect("of another database with the name", "_replicator waits pending") // by its job
	if n := m.listing.size; n != 0 {
		t.Errorf("%d are counted", n)
	}
}

// A list that cannot be read whole in time says so, and the next one goes on.
func TestView_List_late(t *testing.T) {
	s := openStore(t)
	m := New(Options{Store: s, Node: "n", Settings: func() Settings { return Settings{} }})
	db, err := s.Create(t.Context(), "_replicator", layer.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, err := db.Put(t.Context(), layer.Edit{ID: fmt.Sprint("d", i),
			Body: []byte(`{"_replication_state":"completed"}`)}, layer.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := listed(t, m); strings.Count(got, "\n") != 2 {
		t.Fatalf("the list is %s", got)
	}
	m.listing.of["_replicator"].whole = false
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if m.listing.readDocs(ended, m.View()) {
		t.Error("all is said to be read")
	}
	if got, unread := listed(t, m); strings.Count(got, "\n") != 2 || unread {
		t.Errorf("the next list is %s, unread %v", got, unread)
	}
	m.listing.at = time.Time{}
	m.listing.clear()
	if m.listing.of != nil || m.listing.last.All != nil {
		t.Error("it is remembered")
	}
	if got, _ := listed(t, m); strings.Count(got, "\n") != 2 {
		t.Errorf("after that, the list is %s", got)
	}
}

// A run that has taken over a job, and has no figures of its own yet, was not updated before it began.
func TestShown_taskOfTakenOver(t *testing.T) {
	began := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ updated, want time.Time }{
		{time.Time{}, began}, {began.Add(-78 * time.Second), began},
		{began.Add(time.Second), began.Add(time.Second)},
	} {
		s := shown{state: Running, rec: &record{Changed: began, Updated: c.updated}}
		task := gjson.ParseBytes(s.taskJSON())
		if got := task.Get("updated_on").Int(); got != c.want.Unix() || task.Get("started_on").Int() != began.Unix() {
			t.Errorf("updated at %v: %s", c.updated, task.Raw)
		}
	}
}

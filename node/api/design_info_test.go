package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer"
)

// While an index is built, _info shows the goal and the progress of each shard.
func TestDesignInfo_progress(t *testing.T) {
	s := serve(t, nil)
	db, err := s.store.Create(t.Context(), "db", layer.CreateOptions{Shards: 2})
	if err != nil {
		t.Fatal(err)
	}
	edits := []layer.Edit{{ID: "_design/d", Body: []byte(`{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)}}
	for i := range 40 {
		edits = append(edits, layer.Edit{ID: fmt.Sprint(i), Body: fmt.Appendf(nil, `{"n":%d}`, i)})
	}
	if _, err := db.Bulk(t.Context(), edits, layer.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	design, err := db.Design(t.Context(), "d")
	if err != nil {
		t.Fatal(err)
	}
	info := func() (got struct {
		Building bool              `json:"updater_running"`
		Goal     string            `json:"goal"`
		Shards   map[string]string `json:"shards"`
		Scanned  map[string]string `json:"scanned"`
	}) {
		t.Helper()
		text := s.must(t, "GET", "/db/_design/d/_info", "")
		var answer struct {
			ViewIndex json.RawMessage `json:"view_index"`
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if err := json.Unmarshal(answer.ViewIndex, &got); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return got
	}
	if got := info(); got.Building || len(got.Shards) > 0 {
		t.Errorf("before: %+v", got)
	}
	state, err := db.Index(design).BriefState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked, err := db.Index(design).RequestBuild(t.Context(), state.LastSeq)
	if err != nil {
		t.Fatal(err)
	}
	asked.Watch.Cancel()
	b, err := db.StartBuild(t.Context(), layer.IndexJob{Signature: design.Signature}, 1, layer.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first, second := string(b.Shards[0]), string(b.Shards[1])
	if _, err := b.Step(t.Context(), b.Shards[1], 5); err != nil {
		t.Fatal(err)
	}
	got := info()
	if id := got.Scanned[second]; !got.Building || got.Goal != b.Goal.String() || got.Shards[first] != "0" ||
		got.Scanned[first] != "" || got.Shards[second] != "0" || id == "" {
		t.Errorf("under way: %+v", got)
	}
	r, err := b.Step(t.Context(), b.Shards[1], 100)
	if err != nil {
		t.Fatal(err)
	}
	got = info()
	if _, scans := got.Scanned[second]; scans || got.Shards[first] != "0" || got.Shards[second] != r.Seq.String() ||
		r.Seq != b.Goal {
		t.Errorf("one shard is done: %+v, at %s", got, r.Seq)
	}
	dropJobs(t, s.store)
	if got := info(); got.Building || got.Goal == "" {
		t.Errorf("without its job: %+v", got)
	}
}

// dropJobs removes the jobs that build indexes.
func dropJobs(t *testing.T, s *layer.Store) {
	t.Helper()
	for j, err := range s.Jobs(t.Context()) {
		if err == nil && j.Type == layer.IndexJobs {
			err = s.RemoveJob(t.Context(), j.Type, j.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// An index is being built as long as a job does it: after a rebuild whose job was dropped, it is not.
func TestDesignInfo_dropped(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	s.must(t, "GET", "/db/_design/d/_view/v", "")
	db, err := s.store.Database(t.Context(), "db")
	if err != nil {
		t.Fatal(err)
	}
	design, err := db.Design(t.Context(), "d")
	if err == nil {
		err = db.Index(design).Rebuild(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		return strings.Contains(s.must(t, "GET", "/db/_design/d/_info", ""), `"updater_running":true`)
	}
	if !running() {
		t.Error("with its job it is not being built")
	}
	dropJobs(t, s.store)
	if running() {
		t.Error("without its job it is being built")
	}
	s.must(t, "GET", "/db/_design/d/_view/v", "")
}

// _info shows some documents that a map function skips, with reasons, and _errors all of them.
func TestDesignInfo_skipped(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[{"_id":"a","n":1},{"_id":"b","n":2}]}`)
	s.must(t, "PUT", "/db/_design/d", `{"views":{
		"year":{"map":"function (doc) { emit(new Date().getFullYear(), 1) }"},
		"caught":{"map":"function (doc) { if (doc.n > 1) { try { Math.random() } catch (e) { } } emit(doc.n, 1) }"},
		"fine":{"map":"function (doc) { emit(new Date(doc.n).getFullYear(), 1) }"}}}`)
	s.must(t, "GET", "/db/_design/d/_view/year", "")
	var info struct {
		ViewIndex struct {
			Views map[string]struct {
				Rows, Errors int
				Skipped      *struct{ ID, Error string }
			}
		} `json:"view_index"`
	}
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/_design/d/_info", "")), &info); err != nil {
		t.Fatal(err)
	}
	for view, want := range map[string]struct {
		rows, errors int
		id, reason   string
	}{
		"year": {0, 2, "a", "depends on the clock"}, "caught": {1, 1, "b", "depends on random numbers"},
		"fine": {2, 0, "", ""},
	} {
		got := info.ViewIndex.Views[view]
		if got.Rows != want.rows || got.Errors != want.errors || (got.Skipped == nil) != (want.id == "") {
			t.Errorf("%s: %+v", view, got)
			continue
		}
		if got.Skipped != nil && (got.Skipped.ID != want.id || !strings.Contains(got.Skipped.Error, want.reason)) {
			t.Errorf("%s: %+v", view, *got.Skipped)
		}
	}
	var all struct{ Errors []struct{ ID, View string } }
	if err := json.Unmarshal([]byte(s.must(t, "GET", "/db/_design/d/_errors", "")), &all); err != nil ||
		len(all.Errors) != 3 {
		t.Errorf("_errors: %+v, %v", all, err)
	}
}

// _info counts the changes that are not yet in an index, and shows the version of the order of its strings.
func TestDesignInfo_pending(t *testing.T) {
	s := serve(t, nil)
	s.must(t, "PUT", "/db", "")
	s.must(t, "PUT", "/db/_design/d", `{"views":{"v":{"map":"function (doc) { emit(doc.n) }"}}}`)
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[{"_id":"a"},{"_id":"b"},{"_id":"c"}]}`)
	check := func(pending string) {
		t.Helper()
		got := s.must(t, "GET", "/db/_design/d/_info", "")
		for _, want := range []string{`"updates_pending":{"minimum":` + pending + `,"preferred":` + pending + `,"total":` +
			pending + `}`, `"collator_versions":["153.120"]`, `"purge_seq":0`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	}
	check("4")
	s.must(t, "GET", "/db/_design/d/_view/v", "")
	check("0")
	s.must(t, "POST", "/db/_bulk_docs", `{"docs":[{"_id":"d"},{"_id":"e"}]}`)
	check("2")
}

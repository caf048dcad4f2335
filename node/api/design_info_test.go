package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/divandb/divan/layer"
)

// While an index is built, _info shows its goal and how far each shard is.
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
	b, err := db.Index(design).StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	first, second := string(b.Shards[0]), string(b.Shards[1])
	if _, err := b.Step(t.Context(), b.Shards[1], 5); err != nil {
		t.Fatal(err)
	}
	got := info()
	if id := got.Scanned[second]; !got.Building || got.Goal != b.Goal.String() || got.Shards[first] != "0" || got.Scanned[first] != "" || got.Shards[second] != "0" || id == "" {
		t.Errorf("under way: %+v", got)
	}
	r, err := b.Step(t.Context(), b.Shards[1], 100)
	if err != nil {
		t.Fatal(err)
	}
	got = info()
	if _, scans := got.Scanned[second]; scans || got.Shards[first] != "0" || got.Shards[second] != r.Seq.String() || r.Seq != b.Goal {
		t.Errorf("one shard is done: %+v, at %s", got, r.Seq)
	}
}

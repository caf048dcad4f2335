package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// A first build on an engine without snapshots. Its steps do not read what documents have in the index, which is nothing, until it has to go on to a newer goal: then
// documents come that are in the index.
func TestBuild_chases(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	e := &costEngine{Engine: mustEngine(t)} // which holds no snapshots
	db := openViewsOn(t, e, layer.CreateOptions{})
	save(t, db, byN)
	const docs = 1500 // more than the end of a build does by itself
	write := func(generation int) {
		t.Helper()
		var edits []layer.Edit
		for i := range docs {
			text := fmt.Sprintf(`{"_id":"%04d","n":%d}`, i, generation*docs+i)
			if generation > 0 {
				old, err := db.Get(t.Context(), fmt.Sprintf("%04d", i), layer.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				text = fmt.Sprintf(`{"_rev":"%s",%s`, old.Rev, text[1:])
			}
			edits = append(edits, edit(t, text))
		}
		for part := range slices.Chunk(edits, 500) {
			results, err := db.Bulk(t.Context(), part, layer.WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
		}
	}
	write(0)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	// step returns how many keys the step read by themselves.
	step := func(n int) (layer.StepResult, int64) {
		t.Helper()
		e.forget()
		r, err := b.Step(t.Context(), b.Shards[0], n)
		if err != nil {
			t.Fatal(err)
		}
		return r, e.gets.Load()
	}
	if r, gets := step(100); r.Documents != 100 || gets > 150 { // bodies at most
		t.Errorf("the first %d documents: %d reads", r.Documents, gets)
	}
	write(1)
	for r := (layer.StepResult{}); !r.Done; {
		r, _ = step(100)
	}
	if done, err := b.Finish(t.Context()); done || err != nil {
		t.Fatalf("the build is done after %d changes: %v, %v", docs, done, err)
	}
	if r, gets := step(100); r.Documents != 100 || gets < 100 {
		t.Errorf("%d documents that are in the index already: %d reads", r.Documents, gets)
	}
	for r := (layer.StepResult{}); !r.Done; {
		r, _ = step(1000)
	}
	if done, err := b.Finish(t.Context()); !done || err != nil {
		t.Fatalf("the end: %v, %v", done, err)
	}
	got := rows(t, ix, layer.ViewQuery{View: "n"})
	want := make([]string, docs)
	for i := range want {
		want[i] = fmt.Sprintf("%04d %d null", i, docs+i)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d rows, not the %d of the newest revisions", len(got), docs)
	}
	if state, err := ix.State(t.Context()); err != nil || state.Views[0].Rows != docs {
		t.Errorf("state %+v, %v", state, err)
	}
}

package actors_test

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// One of the nodes runs a requested compaction and counts what it removes. The compaction is reported as running until
// it is done.
func TestLayer_Compaction(t *testing.T) {
	store := openLayer(t)
	nodes := []*actors.System{startOn(t, store, "n1"), startOn(t, store, "n2")}
	db := create(t, store, "cities", 2)
	const revisions = 1200
	write := func(rev layer.Rev) layer.Rev {
		r, err := db.Put(t.Context(), layer.Edit{ID: "oslo", Rev: rev, Body: []byte("{}")}, layer.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	rev := write(layer.Rev{})
	for range revisions {
		rev = write(rev)
	}
	if err := db.RequestCompaction(t.Context()); err != nil {
		t.Fatal(err)
	}
	for {
		job, watch, err := store.Job(t.Context(), layer.CompactionJobs, "cities")
		if err != nil {
			t.Fatal(err)
		}
		info, err := db.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !info.Compacting {
			watch.Cancel()
			if info.SupersededBodies != 0 {
				t.Errorf("%d superseded bodies are left", info.SupersededBodies)
			}
			break
		}
		select {
		case <-watch.Done():
		case <-time.After(time.Minute):
			t.Fatalf("still compacting: %+v", job)
		}
	}
	var bodies, failures int64
	for _, n := range nodes {
		f := n.Compactions()
		bodies, failures = bodies+f.Bodies, failures+f.Failures
	}
	// What a transaction with an unknown result removed is not counted.
	if bodies > revisions || bodies < revisions && !faultkv.Enabled() || failures != 0 {
		t.Errorf("%d bodies were removed, %d runs failed", bodies, failures)
	}
}

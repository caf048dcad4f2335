package layer_test

import (
	"testing"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// supersede updates a document until it has n superseded bodies, and returns its first revision.
func supersede(t *testing.T, d *layer.Database, id string, n int) layer.Rev {
	t.Helper()
	first := put(t, d, `{"_id":"`+id+`"}`)
	for r := first; n > 0; n-- {
		r = put(t, d, `{"_id":"`+id+`","_rev":"`+r.String()+`"}`)
	}
	return first
}

// readable reports whether a revision has its body.
func readable(t *testing.T, d *layer.Database, id string, r layer.Rev) bool {
	t.Helper()
	_, err := d.Get(t.Context(), id, layer.GetOptions{Rev: r})
	if err != nil && layer.KindOf(err) != layer.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

// openCompacting opens further stores on an engine that has one. They close before the first.
func openCompacting(t *testing.T, e kv.Engine, c layer.Compaction) *layer.Store {
	t.Helper()
	s, err := layer.Open(t.Context(), e, layer.Options{Compaction: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Recently superseded bodies stay readable until they are as old as the settings say, or until a client requests
// compaction.
func TestDatabase_RunCompaction(t *testing.T) {
	e := mustEngine(t)
	run := func(s *layer.Store) layer.Compacted {
		t.Helper()
		d, err := s.Database(t.Context(), "db")
		if err != nil {
			t.Fatal(err)
		}
		var all layer.Compacted
		if err := d.RunCompaction(t.Context(), func(c layer.Compacted) error {
			all.Bodies += c.Bodies
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	slow := mustStore(t, e, layer.Options{Compaction: layer.Compaction{Auto: true, Age: time.Hour, Bodies: 5,
		Bytes: 1 << 40}})
	d := mustCreate(t, slow, "db", layer.CreateOptions{Shards: 3})
	first := supersede(t, d, "a", 10)
	if c := run(slow); c.Bodies != 0 || !readable(t, d, "a", first) {
		t.Errorf("%+v was removed before its time", c)
	}
	off := openCompacting(t, e, layer.Compaction{})
	if c := run(off); c.Bodies != 0 {
		t.Errorf("%+v was removed where compaction is off", c)
	}
	compacting := func() bool {
		info, err := d.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.Compacting
	}
	if compacting() {
		t.Error("the database counts as being compacted")
	}
	if err := d.RequestCompaction(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := supersede(t, d, "b", 10)
	if !compacting() {
		t.Error("it is not said to be compacted")
	}
	worker := layer.Worker{Name: "w", Life: "1", Lease: time.Minute}
	job, err := layer.ClaimJob(t.Context(), slow, layer.CompactionJobs, worker)
	if err != nil || job == nil || job.ID != "db" {
		t.Fatalf("job %+v, %v", job, err)
	}
	// A transaction with an unknown result may have removed bodies without counting them.
	counted := func(c layer.Compacted) bool { return c.Bodies == 10 || faultkv.Enabled() && c.Bodies < 10 }
	if c := run(slow); !counted(c) || readable(t, d, "a", first) || !readable(t, d, "b", later) {
		t.Errorf("%+v was removed after the request", c)
	}
	if !compacting() {
		t.Error("it is not said to be compacted while the job runs")
	}
	if err := slow.Finish(t.Context(), job, nil); err != nil || compacting() {
		t.Errorf("the database counts as being compacted afterwards; %v", err)
	}
	eager := openCompacting(t, e, layer.Compaction{Auto: true, Bodies: 1, Bytes: 1 << 40})
	if c := run(eager); !counted(c) || readable(t, d, "b", later) {
		t.Errorf("%+v was removed", c)
	}
}

// A database gets a compaction job when it has enough superseded bodies. The job starts when the oldest of them is old
// enough.
func TestStore_LookCompactable(t *testing.T) {
	e := mustEngine(t)
	s := mustStore(t, e, layer.Options{Compaction: layer.Compaction{Auto: true, Bytes: 1 << 40,
		Age: time.Hour, Bodies: 8, Latest: 100 * time.Hour}})
	d := mustCreate(t, s, "db", layer.CreateOptions{})
	look := func(s *layer.Store) (in time.Duration, due bool) {
		t.Helper()
		if err := layer.LookNoted(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		w, next, err := s.WatchJobs(t.Context(), layer.CompactionJobs,
			layer.Worker{Name: "w", Life: "1", Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		w.Cancel()
		if next == nil {
			return 0, false
		}
		return time.Until(next.At), true
	}
	supersede(t, d, "a", 6)
	if in, due := look(s); due {
		t.Errorf("six bodies are due in %v", in)
	}
	if seen := s.Compactable()["db"]; seen.Superseded != 6 || seen.Oldest <= 0 {
		t.Errorf("seen: %+v", seen)
	}
	supersede(t, d, "b", 6)
	if in, due := look(s); !due || in > time.Hour || in < 30*time.Minute {
		t.Errorf("twelve bodies are due %t in %v, want an hour", due, in)
	}
	layer.Later(s, 5*time.Hour)
	supersede(t, d, "c", 2)
	if in, due := look(s); !due || in > 0 {
		t.Errorf("bodies that are five hours old are due %t in %v", due, in)
	}
	if seen := s.Compactable()["db"]; seen.Oldest < 5*time.Hour || seen.Oldest > 6*time.Hour {
		t.Errorf("seen after five hours: %+v", seen)
	}
	// The hourly scan of all databases finds what other nodes have written, including nodes that died.
	mustCreate(t, s, "other", layer.CreateOptions{})
	if err := s.RemoveJob(t.Context(), layer.CompactionJobs, "db"); err != nil {
		t.Fatal(err)
	}
	old := openCompacting(t, e, layer.Compaction{Auto: true, Bytes: 1 << 40, Bodies: 1000, Latest: time.Nanosecond})
	if err := layer.LookAll(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if in, due := look(old); !due || in > 0 {
		t.Errorf("old bodies are due %t in %v", due, in)
	}
	if n := len(old.Compactable()); n != 1 {
		t.Errorf("%d databases have something", n)
	}
}

// A store scans soon after its start, and so finds what a dead node has left to compact.
func TestStore_LookCompactable_start(t *testing.T) {
	e := mustEngine(t)
	supersede(t, mustCreate(t, mustStore(t, e, layer.Options{}), "db", layer.CreateOptions{}), "a", 6)
	s := openCompacting(t, e, layer.Compaction{Auto: true, Bytes: 1 << 40, Bodies: 5, Age: time.Hour,
		FirstLook: time.Millisecond})
	for {
		job, w, err := s.Job(t.Context(), layer.CompactionJobs, "db")
		if err != nil {
			t.Fatal(err)
		}
		if job != nil {
			w.Cancel()
			return
		}
		select {
		case <-w.Done():
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// Damage in one database does not keep the sweeps over all databases from the others.
func TestStore_sweepsPastDamage(t *testing.T) {
	e := faultkv.NewDamaged(mustEngine(t))
	s := mustStore(t, e, layer.Options{})
	var all []*layer.Database
	for _, name := range []string{"a", "b", "c"} {
		d := mustCreate(t, s, name, layer.CreateOptions{})
		supersede(t, d, "x", 1)
		all = append(all, d)
	}
	e.Damage(layer.KeysOf(all[1]))
	err := layer.LookAll(t.Context(), s)
	if found := s.Compactable(); !layer.Local(err) || found["a"].Superseded != 1 || found["c"].Superseded != 1 {
		t.Errorf("the sweep finds %+v, and fails by %v", found, err)
	}
	e.Damage(kv.KeyRange{})
}

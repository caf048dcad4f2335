package layer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// slowCommit is an engine without snapshots whose first large commit takes until so many others were made, which are
// those of transactions that read.
type slowCommit struct {
	kv.Engine
	on     atomic.Bool
	reads  atomic.Int64
	writes atomic.Int64
	until  int64
	there  chan struct{}
}

func (s *slowCommit) Begin(ctx context.Context) kv.Transaction {
	return &slowlyCommitted{s.Engine.Begin(ctx), s, ctx}
}

type slowlyCommitted struct {
	kv.Transaction
	s   *slowCommit
	ctx context.Context
}

func (t *slowlyCommitted) Commit() error {
	switch {
	case !t.s.on.Load():
	case t.Size() < 10_000:
		if t.s.reads.Add(1) == t.s.until {
			close(t.s.there)
		}
	case t.s.writes.Add(1) == 1:
		select {
		case <-t.s.there:
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
	return t.Transaction.Commit()
}

// A step reads and maps on while a commit takes long, and writes all that has come meanwhile together: a store whose
// commits are slow gets fewer of them.
func TestBuild_Step_slowCommits(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	const parts = 6
	e := &slowCommit{Engine: mustEngine(t), until: parts, there: make(chan struct{})}
	db := openViewsOn(t, e, layer.CreateOptions{})
	fillFor(t, db, parts*500)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, null) }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e.on.Store(true)
	r, err := b.Step(t.Context(), b.Shards[0], parts*500)
	e.on.Store(false)
	if err != nil || r.Documents != parts*500 {
		t.Fatalf("the step: %+v, %v", r, err)
	}
	if n := e.writes.Load(); n >= parts {
		t.Errorf("%d commits for %d parts", n, parts)
	}
	finish(t, b, 1000)
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != parts*500 {
		t.Errorf("%d rows", n)
	}
}

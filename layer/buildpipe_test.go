package layer_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
)

// slowCommit is an engine without snapshots whose first large commit waits for a number of other commits, which are
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

// A step continues to read and map while a commit takes long, and writes what has accumulated in the meantime together:
// a store with slow commits gets fewer of them.
func TestBuild_Step_slowCommits(t *testing.T) {
	if faultkv.Enabled() {
		t.Skip("what is done again after a fault counts too")
	}
	const parts, first = 6, 100
	e := &slowCommit{Engine: mustEngine(t), until: parts, there: make(chan struct{})}
	db := openViewsOn(t, e, layer.CreateOptions{})
	fillFor(t, db, first+parts*500)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, null) }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	// The first parts of a build are small, until it is known how long a document takes.
	if _, err := b.Step(t.Context(), b.Shards[0], first); err != nil {
		t.Fatal(err)
	}
	e.on.Store(true)
	r, err := b.Step(t.Context(), b.Shards[0], parts*500)
	e.on.Store(false)
	if err != nil || r.Documents != parts*500 {
		t.Fatalf("the step: %+v, %v", r, err)
	}
	// A slow machine reads more and smaller parts. When the sixth has been read, three that have been mapped wait.
	if wrote, read := e.writes.Load(), e.reads.Load(); read < parts || wrote > read-2 {
		t.Errorf("%d commits for %d parts", wrote, read)
	}
	finish(t, b, 1000)
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != first+parts*500 {
		t.Errorf("%d rows", n)
	}
}

// The parts mapped ahead of the writes of a step are limited by their cost: one part of documents that several views
// emit as a whole, or a few parts of small ones.
func TestBuild_Step_mappedAhead(t *testing.T) {
	for name, c := range map[string]struct{ size, ahead int }{
		"large documents": {60_000, 1}, // whose parts cost 5 MB
		"small documents": {100, 4},    // three that wait, and one that would
	} {
		t.Run(name, func(t *testing.T) {
			const parts, docs = 6, 30
			db := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
			edits := make([]layer.Edit, parts*docs)
			for i := range edits {
				text := fmt.Sprintf(`{"_id":"%d","n":%d,"pad":%q}`, i, i, strings.Repeat("x", c.size))
				edits[i] = edit(t, text)
			}
			mustBulk(t, db, edits, layer.WriteOptions{})
			const view = `{"map":"function(doc) { emit(doc.n, doc) }"}`
			save(t, db, `{"_id":"_design/d","views":{"a":`+view+`,"b":`+view+`,"c":`+view+`}}`)
			b, err := db.Index(mustDesign(t, db, "d")).StartBuild(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			m, err := layer.ReadParts(t.Context(), b, b.Shards[0], parts, docs)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error)
				go func() { ended <- m.Map(t.Context()) }()
				for taken := range parts {
					synctest.Wait()
					if got, want := m.Mapped(), min(taken+c.ahead, parts); got != want {
						t.Errorf("%d parts are mapped when %d were taken, want %d", got, taken, want)
					}
					m.Take()
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// panicking is an engine on which large commits panic.
type panicking struct {
	kv.Engine
	on atomic.Bool
}

func (p *panicking) Begin(ctx context.Context) kv.Transaction {
	return &panickingTransaction{p.Engine.Begin(ctx), p}
}

type panickingTransaction struct {
	kv.Transaction
	p *panicking
}

func (t *panickingTransaction) Commit() error {
	if t.p.on.Load() && t.Size() >= 10_000 {
		panic("a large commit")
	}
	return t.Transaction.Commit()
}

// If the write of a step panics, its readers and mappers stop: the caller closes the build, and with it what they read.
func TestBuild_Step_panics(t *testing.T) {
	e := &panicking{Engine: mustEngine(t)}
	db := openViewsOn(t, e, layer.CreateOptions{})
	fillFor(t, db, 5000)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, null) }"}}}`)
	b, err := db.Index(mustDesign(t, db, "d")).StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	e.on.Store(true)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the step did not panic")
			}
		}()
		_, _ = b.Step(t.Context(), b.Shards[0], 5000)
	}()
	e.on.Store(false)
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, f := range []string{"gatherParts", "mapParts"} {
		if strings.Contains(string(stacks), f) {
			t.Errorf("%s continues", f)
		}
	}
}

// The steps of a build that somebody waits for end after some progress each, and lose nothing.
func TestBuild_Hurry(t *testing.T) {
	db := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
	const all = 700
	fillFor(t, db, all)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { if (doc._id > '') emit(doc.n, null) }"}}}`)
	ix := db.Index(mustDesign(t, db, "d"))
	b, err := ix.StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Hurry(true)
	done, steps := 0, 0
	for ended := false; !ended; steps++ {
		r, err := b.Step(t.Context(), b.Shards[0], all)
		if err != nil || r.Documents == 0 && !r.Done {
			t.Fatalf("step %d: %+v, %v", steps, r, err)
		}
		if steps == 0 && r.Documents > 100 {
			t.Errorf("the first step has mapped %d documents", r.Documents)
		}
		done, ended = done+r.Documents, r.Done
	}
	if done != all+1 || steps < 2 { // the design document too
		t.Errorf("%d documents in %d steps", done, steps)
	}
	finish(t, b, 1000)
	if n := len(rows(t, ix, layer.ViewQuery{View: "n"})); n != all {
		t.Errorf("%d rows", n)
	}
}

// A hurried step goes on past deleted documents until it has mapped one: that is the progress that it reports.
func TestBuild_Hurry_deleted(t *testing.T) {
	db := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
	const all = 2500 // more than a part passes over
	for from := 0; from < all; from += 500 {
		edits := make([]layer.Edit, 500)
		for i := range edits {
			edits[i] = edit(t, fmt.Sprintf(`{"_id":"%06d"}`, from+i))
		}
		for i, r := range mustBulk(t, db, edits, layer.WriteOptions{}) {
			edits[i] = edit(t, fmt.Sprintf(`{"_id":"%06d","_rev":"%s","_deleted":true}`, from+i, r.Rev))
		}
		mustBulk(t, db, edits, layer.WriteOptions{})
	}
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { emit(doc.n, null) }"}}}`)
	b, err := db.Index(mustDesign(t, db, "d")).StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	b.Hurry(true)
	if r, err := b.Step(t.Context(), b.Shards[0], 100); err != nil || r.Documents == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// How long a document takes is not learnt from documents that were not mapped.
func TestBuild_Step_cancelled(t *testing.T) {
	db := openViewsOn(t, mustEngine(t), layer.CreateOptions{})
	fillFor(t, db, 10)
	save(t, db, `{"_id":"_design/d","views":{"n":{"map":"function(doc) { if (doc._id[0] !== '_') for (;;); }"}}}`)
	d := mustDesign(t, db, "d")
	b, err := db.Index(d).StartBuild(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	d.MapTime.Store(int64(time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(200*time.Millisecond, cancel).Stop()
	_, err = b.Step(ctx, b.Shards[0], 10)
	if now := time.Duration(d.MapTime.Load()); err == nil || now < time.Hour {
		t.Errorf("%v, and %v for a document", err, now)
	}
}

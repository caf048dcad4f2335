package index

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// An index is read as of one sequence (P8). While a build writes its rows, readers on every node lay over them what was
// there before (before.go). The documents are newer than the rows whenever somebody writes. So where the engine
// holds long snapshots, this node keeps for the newest sequences of an index the documents that its rows were made
// from, and, as that is read faster, the rows as they were before the build under way began. It is a cache: a query
// takes what there is for the sequence that the store has. Where the engine holds no snapshots, see overlay.
//
// What is kept is put here before the transaction that makes it needed is committed, so that no query comes between.

// published is one sequence of an index. The last user closes its snapshots.
type published struct {
	seq  db.Seq
	docs kv.Snapshot // nil: not held
	rows kv.Snapshot // nil: those in the store are still it

	users   int  // the registry itself is one
	pending int  // transactions that may make this the index's sequence
	settled bool // one of them has
	held    bool // by a build: it does not expire
	used    time.Time
}

// Publications are what this node holds, by database and signature.
type Publications struct {
	mu      sync.Mutex
	entries map[Publication][]*published // oldest first
	closed  bool
}

var PublishedSlot = db.NewSlot[Publications]()

func PublishedOf(s *db.Store) *Publications { return PublishedSlot.Of(s) }

type Publication struct {
	Database  int64
	Signature string
}

const (
	// publishedFor is how long a sequence is kept without a query: an old snapshot keeps the engine from dropping what
	// was overwritten since.
	publishedFor = 2 * time.Second
	// publishedSeqs is how many sequences that an index has had are kept.
	publishedSeqs = 4
)

// put takes over snapshots of the documents or the rows of an index at seq, on behalf of a transaction that will settle
// it.
func (ps *Publications) put(key Publication, seq db.Seq, docs, rows kv.Snapshot) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.closed {
		Unpin(&docs)
		Unpin(&rows)
		return
	}
	p := ps.find(key, seq)
	if p == nil {
		p = &published{seq: seq, users: 1}
		ps.add(key, p)
	}
	p.pending++
	p.used = time.Now()
	for _, s := range []struct{ now, was *kv.Snapshot }{{&docs, &p.docs}, {&rows, &p.rows}} {
		if *s.was == nil {
			*s.was, *s.now = *s.now, nil
		}
		Unpin(s.now) // one of that sequence is as good as another
	}
}

// settle says how the transaction ended. What no transaction has made the index's sequence goes.
func (ps *Publications) settle(key Publication, seq db.Seq, committed, held bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.find(key, seq)
	if p == nil {
		return
	}
	p.pending--
	p.settled = p.settled || committed
	p.held = p.held || held
	if p.pending == 0 && !p.settled {
		ps.remove(key, p)
	}
	old := 0
	for _, p := range slices.Backward(slices.Clone(ps.entries[key])) {
		if !p.settled || p.pending > 0 || p.held {
			continue
		}
		if old++; old > publishedSeqs {
			ps.remove(key, p)
		}
	}
}

// find and add are for callers that hold mu.
func (ps *Publications) find(key Publication, seq db.Seq) *published {
	for _, p := range ps.entries[key] {
		if p.seq == seq {
			return p
		}
	}
	return nil
}

func (ps *Publications) add(key Publication, p *published) {
	if ps.entries == nil {
		ps.entries = map[Publication][]*published{}
	}
	all := append(ps.entries[key], p)
	slices.SortFunc(all, func(a, b *published) int { return a.seq.Compare(b.seq) })
	ps.entries[key] = all
}

func (ps *Publications) remove(key Publication, p *published) {
	all := ps.entries[key]
	ps.entries[key] = slices.DeleteFunc(all, func(q *published) bool { return q == p })
	if len(ps.entries[key]) == 0 {
		delete(ps.entries, key)
	}
	ps.drop(p)
}

// drop gives up one use. The caller holds mu.
func (ps *Publications) drop(p *published) {
	if p.users--; p.users == 0 {
		Unpin(&p.docs)
		Unpin(&p.rows)
	}
}

// taken is what a reader has of a published sequence: the snapshots that there were when it took it. Others may be put
// meanwhile.
type taken struct {
	of         *published
	Docs, Rows kv.Snapshot
}

// Take is what is held for an index at seq; nil if nothing is. The caller releases it with done.
func (ps *Publications) Take(key Publication, seq db.Seq) *taken {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.find(key, seq)
	if p == nil {
		return nil
	}
	p.users++
	p.used = time.Now()
	return &taken{p, p.docs, p.rows}
}

func (ps *Publications) Done(t *taken) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.drop(t.of)
}

// Release lets what a build held expire.
func (ps *Publications) Release(key Publication, seq db.Seq) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.find(key, seq); p != nil {
		p.held, p.used = false, time.Now()
	}
}

// Expire drops what nobody has asked for lately.
func (ps *Publications) Expire(now time.Time) {
	ps.removeIf(func(p *published) bool { return p.pending == 0 && !p.held && now.Sub(p.used) > publishedFor })
}

// Close drops everything, and what is put from then on.
func (ps *Publications) Close() {
	ps.mu.Lock()
	ps.closed = true
	ps.mu.Unlock()
	ps.removeIf(func(*published) bool { return true })
}

func (ps *Publications) removeIf(old func(p *published) bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for key, all := range ps.entries {
		for _, p := range slices.Clone(all) {
			if old(p) {
				ps.remove(key, p)
			}
		}
	}
}

// Pin opens a snapshot for an attempt of a transaction, in the place of one that an earlier attempt opened. It is of
// the transaction's read version or newer, once that is fixed by a read. It does nothing where the engine holds none.
func (ix *Index) Pin(ctx context.Context, s *kv.Snapshot) error {
	Unpin(s)
	opened, ok, err := kv.OpenSnapshot(context.WithoutCancel(ctx), ix.Db.Store.Engine)
	if ok {
		*s = opened
	}
	return err
}

func Unpin(s *kv.Snapshot) {
	if *s != nil {
		(*s).Close()
		*s = nil
	}
}

// Publishing is what one transaction, over all its attempts, has put.
type Publishing struct {
	ps  *Publications
	key Publication
	seq db.Seq
	Put bool
}

// Offer puts snapshots for the attempt under way, in the place of those of an earlier attempt. Call it before the
// commit that makes them needed.
func (p *Publishing) Offer(t *db.Txn, ix *Index, seq db.Seq, docs, rows kv.Snapshot) {
	p.Settle(false, false)
	p.ps, p.key, p.seq, p.Put = PublishedOf(ix.Db.Store), Publication{t.Core.Number, ix.design.Signature}, seq, true
	p.ps.put(p.key, seq, docs, rows)
}

// Settle ends the last attempt. Idempotent.
func (p *Publishing) Settle(committed, held bool) {
	if p.Put {
		p.ps.settle(p.key, p.seq, committed, held)
		p.Put = false
	}
}

package index

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// A query reads an index as of one sequence (P8). While a build writes rows, readers on all nodes merge them with the
// rows that were there before (before.go). But the documents are newer than the rows as soon as anybody writes. So if
// the engine holds long snapshots, this node keeps snapshots for the newest sequences of an index: of the documents
// that the rows were made from, and of the rows before the running build, because these are faster to read than merged
// rows. They are a cache: a query uses what is kept for the index's sequence in the store. If the engine holds no
// snapshots, see package query (overlay.go).
//
// A snapshot is added here before the commit of the transaction that makes it necessary, so that no query runs in
// between.

// published is one sequence of an index. Its snapshots are closed with its last use.
type published struct {
	seq  db.Seq
	docs kv.Snapshot // nil if not held
	rows kv.Snapshot // nil if the rows in the store are still those of seq

	users     int  // uses by readers, and one by the registry
	pending   int  // running transactions that may make seq the index's sequence
	committed bool // one of them has committed
	held      bool // held by a build, does not expire
	used      time.Time
}

// Publications are the sequences that this node keeps, by database and signature.
type Publications struct {
	mu      sync.Mutex
	entries map[Publication][]*published // oldest first
	closed  bool
}

var PublishedSlot = db.NewSlot[Publications]()

// PublishedOf returns the Publications of a Store.
func PublishedOf(s *db.Store) *Publications { return PublishedSlot.Of(s) }

// Publication identifies an index on this node by its database's number and its signature.
type Publication struct {
	Database  int64
	Signature string
}

const (
	// publishedFor is how long a sequence is kept without a query. An old snapshot keeps the engine from dropping
	// values that have been overwritten since.
	publishedFor = 2 * time.Second
	// publishedSeqs is how many sequences of an index are kept.
	publishedSeqs = 4
)

// put adds snapshots of the documents or the rows of an index at seq, and owns them from then on. The calling
// transaction calls end afterwards.
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
		if dropLost(s.was); *s.was == nil {
			*s.was, *s.now = *s.now, nil
		}
		// The sequence already has a snapshot, which is as good.
		Unpin(s.now)
	}
}

// end records how the transaction ended. A sequence that no transaction has committed is removed.
func (ps *Publications) end(key Publication, seq db.Seq, committed, held bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.find(key, seq)
	if p == nil {
		return
	}
	p.pending--
	p.committed = p.committed || committed
	p.held = p.held || held
	if p.pending == 0 && !p.committed {
		ps.remove(key, p)
	}
	old := 0
	for _, p := range slices.Backward(slices.Clone(ps.entries[key])) {
		if !p.committed || p.pending > 0 || p.held {
			continue
		}
		if old++; old > publishedSeqs {
			ps.remove(key, p)
		}
	}
}

// find returns the entry with the sequence, or nil. The caller holds mu.
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

// drop ends one use. The caller holds mu.
func (ps *Publications) drop(p *published) {
	if p.users--; p.users == 0 {
		Unpin(&p.docs)
		Unpin(&p.rows)
	}
}

// taken is what a reader uses of a published sequence: the snapshots at the time of Take. Others may be added later.
type taken struct {
	of         *published
	Docs, Rows kv.Snapshot
}

// Take returns what is kept for an index at seq, or nil. The caller calls Done after use.
func (ps *Publications) Take(key Publication, seq db.Seq) *taken {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.find(key, seq)
	if p == nil {
		return nil
	}
	dropLost(&p.docs)
	dropLost(&p.rows)
	p.users++
	p.used = time.Now()
	return &taken{p, p.docs, p.rows}
}

// Done ends a use that Take has begun.
func (ps *Publications) Done(t *taken) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.drop(t.of)
}

// Release lets a sequence that a build held expire.
func (ps *Publications) Release(key Publication, seq db.Seq) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.find(key, seq); p != nil {
		p.held, p.used = false, time.Now()
	}
}

// Expire removes what has not been used recently.
func (ps *Publications) Expire(now time.Time) {
	ps.removeIf(func(p *published) bool { return p.pending == 0 && !p.held && now.Sub(p.used) > publishedFor })
}

// Close removes everything, and anything added later.
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

// Pin opens a snapshot for an attempt of a transaction and closes that of an earlier attempt. If the attempt has fixed
// its read version by a read, the snapshot is of that version or newer. Pin does nothing if the engine holds no
// snapshots.
func (ix *Index) Pin(ctx context.Context, s *kv.Snapshot) error {
	Unpin(s)
	opened, ok, err := kv.OpenSnapshot(context.WithoutCancel(ctx), ix.Db.Store.Engine)
	if ok {
		*s = opened
	}
	return err
}

// Unpin closes a snapshot, if there is one, and sets it to nil.
func Unpin(s *kv.Snapshot) {
	if *s != nil {
		(*s).Close()
		*s = nil
	}
}

// dropLost is Unpin for a snapshot that has ended with the connection to the store.
func dropLost(s *kv.Snapshot) {
	if kv.Lost(*s) {
		Unpin(s)
	}
}

// Publishing is what one transaction has published, over all its attempts.
type Publishing struct {
	ps      *Publications
	key     Publication
	seq     db.Seq
	Running bool // the last attempt has not ended
}

// Publish publishes snapshots for the current attempt, replacing those of an earlier one. Call it before the commit
// that makes them necessary.
func (p *Publishing) Publish(t *db.Txn, ix *Index, seq db.Seq, docs, rows kv.Snapshot) {
	p.End(false, false)
	p.ps, p.key, p.seq, p.Running = PublishedOf(ix.Db.Store), Publication{t.Core.Number, ix.design.Signature}, seq, true
	p.ps.put(p.key, seq, docs, rows)
}

// End ends the last attempt. It may be called more than once.
func (p *Publishing) End(committed, held bool) {
	if p.Running {
		p.ps.end(p.key, p.seq, committed, held)
		p.Running = false
	}
}

package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/divandb/divan/layer"
)

// wokenWithin is how late a waiting follower may see an edit after it was acknowledged, or after the store has answered
// the follower's node again.
const wokenWithin = 2 * time.Second

// follower follows the changes of a database from the beginning, through one node after the other.
type follower struct {
	w    *world
	d    *database
	n    int
	last layer.Seq
	// when it was last woken, and when it last began to read
	woken, began time.Time
	seen         map[string]layer.Rev
	// checked is how many acks of a document were compared with when they were seen.
	checked map[string]int64
}

// follow runs until the world quits.
func (f *follower) follow() {
	r := source(f.w.seed, "follower", f.n)
	f.seen, f.checked = map[string]layer.Rev{}, map[string]int64{}
	for open(f.w.over) {
		if l := f.w.any(r); l != nil {
			f.through(l)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// through follows through a node until it dies, an error occurs, or some time has passed.
func (f *follower) through(l *life) {
	ctx, cancel := context.WithTimeout(l.over, 8*time.Second)
	defer cancel()
	db, err := f.d.open(ctx, l)
	if err != nil {
		return
	}
	var listened []layer.ShardID
	var woken <-chan struct{}
	end := func() {}
	defer func() { end() }()
	since := time.Time{} // since when it listens
	f.woken = time.Now()
	for open(f.w.over) {
		f.began = time.Now()
		pass, err := db.Changes(ctx, layer.ChangesOptions{Since: f.last, Limit: -1})
		if err != nil {
			return
		}
		for c, err := range pass.Rows {
			if err != nil {
				return
			}
			f.row(l, c, since)
		}
		f.last = pass.LastSeq()
		if shards := pass.Shards(); !slices.Equal(shards, listened) || woken == nil {
			end()
			woken, end = l.actors.Listen(l.of(db), shards...)
			listened = shards
			continue // read again what was committed before Listen
		}
		if since.IsZero() {
			since = time.Now()
		}
		select {
		case <-woken:
			f.w.log.count("wakes")
			f.woken = time.Now()
		case <-ctx.Done():
			f.missed(l, since)
			return
		case <-f.w.over:
			return
		}
	}
}

// row checks a row of the feed.
func (f *follower) row(l *life, c layer.Change, since time.Time) {
	if c.Seq.Compare(f.last) <= 0 {
		f.w.log.violated("feeds are exact", "follower %d of %s through %s: %s after %s", f.n, f.d.name, l, c.Seq, f.last)
	}
	f.last = c.Seq
	if f.seen[c.ID] == c.Rev {
		f.w.log.violated("feeds are exact", "follower %d of %s through %s: %s %s twice", f.n, f.d.name, l, c.ID, c.Rev)
	}
	f.seen[c.ID] = c.Rev
	f.late(l, c.ID, c.Rev.Pos, since)
}

// late checks how long ago an edit was acknowledged that the follower sees now.
func (f *follower) late(l *life, id string, pos int64, since time.Time) {
	for _, at := range f.d.unseen(id, pos, f.checked) {
		clear, ok := l.clearSince()
		if !ok || since.IsZero() {
			continue
		}
		for _, t := range []time.Time{since, clear} {
			if t.After(at) {
				at = t
			}
		}
		took := time.Since(at)
		f.w.log.took("a follower's wait", took)
		if took > wokenWithin {
			f.w.log.violated("listeners are woken", "follower %d of %s through %s saw %s after %v; it was "+
				"woken %v ago and began to read %v ago", f.n, f.d.name, l, id, took, time.Since(f.woken), time.Since(f.began))
		}
	}
}

// missed checks that a follower that has waited for long missed nothing.
func (f *follower) missed(l *life, since time.Time) {
	clear, ok := l.clearSince()
	if !ok || time.Since(clear) < wokenWithin || time.Since(since) < wokenWithin || l.over.Err() != nil {
		return
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	for id, k := range f.d.mu.docs {
		if n := len(k.acks); n > 0 {
			if a := k.acks[n-1]; a.pos > f.seen[id].Pos && time.Since(a.at) > wokenWithin {
				f.w.log.violated("listeners are woken", "follower %d of %s through %s has not seen %s, of %v ago", f.n,
					f.d.name, l, id, time.Since(a.at))
			}
		}
	}
}

// unseen returns when the edits of a document up to a position were acknowledged that are not in checked yet.
func (d *database) unseen(id string, pos int64, checked map[string]int64) (list []time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.mu.docs[id]
	if k == nil {
		return nil // the design document
	}
	for _, a := range k.acks {
		if a.pos > checked[id] && a.pos <= pos {
			list = append(list, a.at)
		}
	}
	checked[id] = max(checked[id], pos)
	return list
}

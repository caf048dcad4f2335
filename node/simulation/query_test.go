package simulation

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// querier asks nodes for a view, and compares the rows with what was acknowledged before.
func (w *world) querier(i int) {
	r := source(w.seed, "querier", i)
	for w.running() {
		time.Sleep(time.Duration(100+r.IntN(1500)) * time.Millisecond)
		d := w.dbs[r.IntN(len(w.dbs))]
		if l := w.any(r); l != nil {
			if err := d.query(l, 5*time.Second); err != nil {
				w.log.count("queries without an answer")
			} else {
				w.log.count("queries")
			}
		}
	}
}

// query reads the view through a node.
func (d *database) query(l *life, within time.Duration) error {
	ctx, cancel := context.WithTimeout(l.over, within)
	defer cancel()
	low := d.lows()
	db, err := d.open(ctx, l)
	if err != nil {
		return err
	}
	design, err := db.Design(ctx, "d")
	if err != nil {
		return err
	}
	if err := l.actors.Ensure(ctx, l.of(db), design); err != nil {
		return err
	}
	l.actors.Use(l.of(db), design)
	return d.compare(ctx, l, db, design, low)
}

// compare compares the rows of an index with the least that each document must have. An answer that had to continue
// in another transaction, after the last row, is of several moments (docs/sql.md): a document that was edited
// meanwhile can be in it twice, or not at all. Such an answer is only counted.
func (d *database) compare(ctx context.Context, l *life, db *layer.Database, design *layer.Design,
	low map[string]int) error {
	var wrong []string
	violated := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var transactions atomic.Int64
	ctx = kv.WithTracer(ctx, func(_ context.Context, what kv.Traced) func(kv.TraceEnd) {
		if what != kv.TracedRead {
			return nil
		}
		transactions.Store(0)
		return func(end kv.TraceEnd) { transactions.Store(int64(end.Attempts)) }
	})
	// Cleanups remove the index if its design document is replaced after it was read here.
	result, err := layer.BeginEnsured(func() error { return l.actors.Ensure(ctx, l.of(db), design) },
		func() (*layer.ViewResult, error) {
			return db.Index(design).Query(ctx, layer.ViewQuery{View: "v", Limit: -1, Fresh: true})
		})
	if err != nil {
		return err
	}
	version, last := "", -1
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(row.Key))
		least, known := low[row.ID]
		switch {
		case err != nil || !known:
			violated("a row %s of %q, or a second one", row.Key, row.ID)
		case n < least:
			violated("%s has %d, and %d was acknowledged before", row.ID, n, least)
		case n < last:
			violated("%d after %d", n, last)
		case version != "" && version != string(row.Value):
			violated("rows of version %s and %s", version, row.Value)
		}
		delete(low, row.ID)
		last, version = n, string(row.Value)
	}
	for id := range low {
		violated("the design document was read as %s: no row of %s and %d others of %d", design.Rev, id, len(low)-1, filled)
		break
	}
	if transactions.Load() > 1 {
		d.w.log.count("queries over several transactions")
		return nil
	}
	for _, what := range wrong {
		d.w.log.violated("indexes are exact", "%s through %s, in %d transactions: %s", d.name, l, transactions.Load(), what)
	}
	return nil
}

// changer reshards databases and changes views.
func (w *world) changer() {
	r := source(w.seed, "changer", 0)
	for w.running() {
		time.Sleep(time.Duration(500+r.IntN(2500)) * time.Millisecond)
		d, reshard, shards, l := w.dbs[r.IntN(len(w.dbs))], r.IntN(2) == 0, 1+r.IntN(4), w.any(r)
		if l == nil {
			continue
		}
		if !reshard {
			d.redesign(l)
			continue
		}
		ctx, cancel := context.WithTimeout(l.over, 5*time.Second)
		if db, err := d.open(ctx, l); err == nil {
			if _, err = db.Reshard(ctx, shards); err == nil {
				w.log.count("reshards")
				w.log.add("%s has %d shards", d.name, shards)
			}
		}
		cancel()
	}
}

// deleter creates databases, has their indexes built, and deletes them meanwhile. It checks that nobody works for them
// afterwards.
func (w *world) deleter() {
	r := source(w.seed, "deleter", 0)
	for i := 0; w.running(); i++ {
		time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		name := fmt.Sprintf("victim%d", i%2)
		d, err := w.create(name, 1+r.IntN(3))
		if err != nil {
			w.log.violated("databases can be created", "%s: %v", name, err)
			return
		}
		l := w.any(r)
		if l == nil {
			l = w.alive()[0]
		}
		d.query(l, time.Duration(r.IntN(700))*time.Millisecond) //nolint:errcheck // it is deleted meanwhile
		db, err := w.truth.Database(w.t.Context(), name)
		if err == nil {
			err = w.truth.Delete(w.t.Context(), name)
		}
		if err != nil {
			w.log.violated("databases can be deleted", "%s: %v", name, err)
			return
		}
		w.log.count("deletions")
		w.log.add("%s is deleted", name)
		w.deleted(db)
	}
}

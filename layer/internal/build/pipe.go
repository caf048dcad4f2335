package build

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/script"
)

// A step of a build is a pipeline: one goroutine reads documents, one maps those that were read before, and the step
// writes what is mapped. Each waits for the store, the processors, or the store again, and a cluster that is busy with
// writers makes all reads and commits slow: one after the other they would be most of the time of a build.

const (
	// AheadParts is how many parts that are mapped may wait to be written. Small ones are written together (see
	// together), others by some transactions each.
	AheadParts = 3
	// aheadBytes is from how much on that cost what waits no more is mapped. One part may cost many times as much,
	// where several views emit whole documents, and as many shards as there are processors have steps at the same time.
	aheadBytes = 4 * stepBytes
)

// Pipeline is the reading and mapping of one step.
type Pipeline struct {
	Mapped <-chan *Batch // in order; closed at the end, and after an error. Who takes one says so by took
	wait   func() error  // until both have ended; their error

	Waiting *WaitingParts
}

// Took says that a part waits no more.
func (p *Pipeline) Took(part *Batch) { p.Waiting.add(-part.cost) }

// WaitingParts is what parts cost that are mapped and wait to be written.
type WaitingParts struct {
	cost atomic.Int64
	Less chan struct{} // holds one where cost has fallen
}

func (w *WaitingParts) add(cost int) {
	w.cost.Add(int64(cost))
	if cost < 0 {
		select {
		case w.Less <- struct{}{}:
		default:
		}
	}
}

// room waits until what waits costs less than aheadBytes, or ctx ends.
func (w *WaitingParts) room(ctx context.Context) error {
	for w.cost.Load() >= aheadBytes {
		select {
		case <-w.Less:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Gathered is a part that is read and not mapped yet.
type Gathered struct {
	Batch   *Batch
	Sources []source
}

// pipe reads and maps up to n documents of a shard, until ctx ends. What was read before a read failed is mapped all
// the same: a step that comes that far has done something.
func (b *Build) pipe(ctx context.Context, shard db.ShardID, n int) *Pipeline {
	read, mapped := make(chan Gathered), make(chan *Batch, AheadParts)
	waiting := &WaitingParts{Less: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(script.Charge(ctx, b.Index.Db.Name(), script.Background))
	from := *b.Progress[shard] // the step moves it on
	var reading, mapping error
	var work sync.WaitGroup
	work.Go(func() {
		defer close(read)
		reading = db.Guarded(func() error { return b.gatherParts(ctx, shard, from, n, read) })()
	})
	work.Go(func() {
		defer close(mapped)
		defer stop()
		mapping = db.Guarded(func() error { return b.MapParts(ctx, read, mapped, waiting) })()
	})
	return &Pipeline{Mapped: mapped, Waiting: waiting, wait: func() error {
		work.Wait()
		if mapping != nil {
			return mapping
		}
		return reading
	}}
}

// MapParts maps what has been read, while there is room for it.
func (b *Build) MapParts(
	ctx context.Context, read <-chan Gathered, mapped chan<- *Batch, waiting *WaitingParts,
) error {
	for part := range read {
		var err error
		if part.Batch.Docs, err = MapAll(ctx, b.Index, &b.keys, part.Sources, 0); err != nil {
			return err
		}
		part.Sources = nil // free while this waits
		for i := range part.Batch.Docs {
			part.Batch.cost += part.Batch.Docs[i].cost(&b.keys)
		}
		waiting.add(part.Batch.cost)
		select {
		case mapped <- part.Batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := waiting.room(ctx); err != nil {
			return err
		}
	}
	return nil
}

// gatherParts reads up to n documents of a shard, in parts.
func (b *Build) gatherParts(ctx context.Context, shard db.ShardID, from index.BuildPosition, n int,
	to chan<- Gathered) error {
	most := stepDocuments
	for n > 0 {
		asked := min(n, most)
		part, sources, err := b.Gather(ctx, shard, from, asked)
		if err != nil {
			return err
		}
		if most = stepDocuments; len(sources) < asked { // they are large: no more are read than are likely to be mapped
			most = min(2*max(len(sources), 1), stepDocuments)
		}
		from, n = part.UpTo, n-len(sources)
		if part.Done {
			n = 0
		}
		select {
		case to <- Gathered{part, sources}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Gather reads a part of what follows a position, from the snapshot or from the store as it is now.
func (b *Build) Gather(ctx context.Context, shard db.ShardID, from index.BuildPosition, n int) (*Batch, []source,
	error) {
	if b.snapshot != nil {
		return gather(b.Index, b.snapshot, b.space, b.cfg, shard, from, b.Goal, db.Seq{}, n)
	}
	var sources []source
	part, err := db.Read(ctx, b.Index.Db, func(t *db.Txn) (part *Batch, err error) {
		if err := b.checkCut(t.Cfg); err != nil {
			return nil, err
		}
		part, sources, err = gather(b.Index, t.Snapshot(), t.Keys, t.Cfg, shard, from, b.Goal, b.cutAt, n)
		return part, err
	})
	return part, sources, err
}

// together adds to a part those that wait already and fit one transaction with it, so that a store whose commits are
// slow gets fewer of them. from is where the part begins. Parts of which one is scanned and another one picked up, or
// read from the feed, stay apart: how far a transaction has come is told in another way.
func (b *Build) together(part *Batch, from index.BuildPosition, p *Pipeline) *Batch {
	size := 0
	for next := part; ; {
		if size += next.cost; size >= stepBytes/2 || part.UpTo.Scans != from.Scans || part.UpTo.Picks != from.Picks {
			return part
		}
		select {
		case more, open := <-p.Mapped:
			if !open {
				return part
			}
			p.Took(more)
			part = &Batch{Docs: append(part.Docs, more.Docs...), UpTo: more.UpTo, Done: more.Done}
			next = more
		default:
			return part
		}
	}
}

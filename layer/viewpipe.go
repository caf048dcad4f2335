package layer

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/script"
)

// A step of a build is a pipeline: one goroutine reads documents, one maps those that were read before, and the step
// writes what is mapped. Each waits for the store, the processors, or the store again, and a cluster that is busy with
// writers makes all reads and commits slow: one after the other they would be most of the time of a build.

const (
	// aheadParts is how many parts that are mapped may wait to be written. Small ones are written together (see
	// together), others by some transactions each.
	aheadParts = 3
	// aheadBytes is from how much on that cost what waits no more is mapped. One part may cost many times as much,
	// where several views emit whole documents, and as many shards as there are processors have steps at the same time.
	aheadBytes = 4 * stepBytes
)

// pipeline is the reading and mapping of one step.
type pipeline struct {
	mapped <-chan *batch // in order; closed at the end, and after an error. Who takes one says so by took
	wait   func() error  // until both have ended; their error

	waiting *waitingParts
}

// took says that a part waits no more.
func (p *pipeline) took(part *batch) { p.waiting.add(-part.cost) }

// waitingParts is what parts cost that are mapped and wait to be written.
type waitingParts struct {
	cost atomic.Int64
	less chan struct{} // holds one where cost has fallen
}

func (w *waitingParts) add(cost int) {
	w.cost.Add(int64(cost))
	if cost < 0 {
		select {
		case w.less <- struct{}{}:
		default:
		}
	}
}

// room waits until what waits costs less than aheadBytes, or ctx ends.
func (w *waitingParts) room(ctx context.Context) error {
	for w.cost.Load() >= aheadBytes {
		select {
		case <-w.less:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// gathered is a part that is read and not mapped yet.
type gathered struct {
	batch   *batch
	sources []source
}

// pipe reads and maps up to n documents of a shard, until ctx ends. What was read before a read failed is mapped all
// the same: a step that comes that far has done something.
func (b *Build) pipe(ctx context.Context, shard ShardID, n int) *pipeline {
	read, mapped := make(chan gathered), make(chan *batch, aheadParts)
	waiting := &waitingParts{less: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(script.Charge(ctx, b.Index.db.name, script.Background))
	from := *b.progress[shard] // the step moves it on
	var reading, mapping error
	var work sync.WaitGroup
	work.Go(func() {
		defer close(read)
		reading = guarded(func() error { return b.gatherParts(ctx, shard, from, n, read) })()
	})
	work.Go(func() {
		defer close(mapped)
		defer stop()
		mapping = guarded(func() error { return b.mapParts(ctx, read, mapped, waiting) })()
	})
	return &pipeline{mapped: mapped, waiting: waiting, wait: func() error {
		work.Wait()
		if mapping != nil {
			return mapping
		}
		return reading
	}}
}

// mapParts maps what has been read, while there is room for it.
func (b *Build) mapParts(
	ctx context.Context, read <-chan gathered, mapped chan<- *batch, waiting *waitingParts,
) error {
	for part := range read {
		var err error
		if part.batch.docs, err = b.Index.mapAll(ctx, &b.keys, part.sources, 0); err != nil {
			return err
		}
		part.sources = nil // free while this waits
		for i := range part.batch.docs {
			part.batch.cost += part.batch.docs[i].cost(&b.keys)
		}
		waiting.add(part.batch.cost)
		select {
		case mapped <- part.batch:
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
func (b *Build) gatherParts(ctx context.Context, shard ShardID, from buildPosition, n int, to chan<- gathered) error {
	most := stepDocuments
	for n > 0 {
		asked := min(n, most)
		part, sources, err := b.gather(ctx, shard, from, asked)
		if err != nil {
			return err
		}
		if most = stepDocuments; len(sources) < asked { // they are large: no more are read than are likely to be mapped
			most = min(2*max(len(sources), 1), stepDocuments)
		}
		from, n = part.upTo, n-len(sources)
		if part.done {
			n = 0
		}
		select {
		case to <- gathered{part, sources}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// gather reads a part of what follows a position, from the snapshot or from the store as it is now.
func (b *Build) gather(ctx context.Context, shard ShardID, from buildPosition, n int) (*batch, []source, error) {
	if b.snapshot != nil {
		return b.Index.gather(b.snapshot, b.space, b.cfg, shard, from, b.Goal, Seq{}, n)
	}
	var sources []source
	part, err := read(ctx, b.Index.db, func(t *txn) (part *batch, err error) {
		if err := b.checkCut(t.cfg); err != nil {
			return nil, err
		}
		part, sources, err = b.Index.gather(t.Snapshot(), t.keys, t.cfg, shard, from, b.Goal, b.cutAt, n)
		return part, err
	})
	return part, sources, err
}

// together adds to a part those that wait already and fit one transaction with it, so that a store whose commits are
// slow gets fewer of them. from is where the part begins. Parts of which one is scanned and another one picked up, or
// read from the feed, stay apart: how far a transaction has come is told in another way.
func (b *Build) together(part *batch, from buildPosition, p *pipeline) *batch {
	size := 0
	for next := part; ; {
		if size += next.cost; size >= stepBytes/2 || part.upTo.scans != from.scans || part.upTo.picks != from.picks {
			return part
		}
		select {
		case more, open := <-p.mapped:
			if !open {
				return part
			}
			p.took(more)
			part = &batch{docs: append(part.docs, more.docs...), upTo: more.upTo, done: more.done}
			next = more
		default:
			return part
		}
	}
}

package build

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/script"
)

// A step of a build is a pipeline: one goroutine reads documents, another maps those already read, and the step writes
// those already mapped. Reading and writing wait for the store, and mapping for the processors. On a cluster under
// load, where reads and commits are slow, doing one after the other would take most of a build's time.

const (
	// AheadParts is how many mapped parts may wait to be written. Small parts are written together (see together),
	// large ones in several transactions each.
	AheadParts = 3
	// aheadBytes is the total cost of waiting parts from which on mapping pauses. A single part may cost many times as
	// much, if several views emit whole documents, and as many steps as there are processors may run at the same time.
	aheadBytes = 4 * stepBytes
	// mapFor is how long it should take to map a part: nobody waits much longer for a step to end (Hurry), and slow
	// functions show progress.
	mapFor = 2 * time.Second
	// unknownDocuments is how many documents are in the first parts, when it is not known how long one takes.
	unknownDocuments = 5
)

// Pipeline reads and maps the documents of one step.
type Pipeline struct {
	Mapped <-chan *Batch // in order; closed at the end and after an error; receivers call Received
	wait   func() error  // waits until both goroutines have ended and returns their error

	Waiting *WaitingParts
}

// Received reports that a part has been received from Mapped.
func (p *Pipeline) Received(part *Batch) { p.Waiting.add(-part.cost) }

// WaitingParts is the cost of the parts that are mapped and wait to be written.
type WaitingParts struct {
	cost atomic.Int64
	Less chan struct{} // receives a value when cost has fallen
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

// room waits until the cost is less than aheadBytes or ctx is done.
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

// Gathered is a part that has been read but not mapped.
type Gathered struct {
	Batch   *Batch
	Sources []source
}

// pipe reads and maps up to n documents of a shard until ctx is done. If a read fails, the documents read before it are
// still mapped, so that the step makes some progress.
func (b *Build) pipe(ctx context.Context, shard db.ShardID, n int) *Pipeline {
	read, mapped := make(chan Gathered), make(chan *Batch, AheadParts)
	waiting := &WaitingParts{Less: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(script.Charge(ctx, b.Index.Db.Name(), script.Background))
	from := *b.Progress[shard] // a copy, because the step changes it
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

// MapParts maps the parts that have been read, pausing while too much waits to be written.
func (b *Build) MapParts(
	ctx context.Context, read <-chan Gathered, mapped chan<- *Batch, waiting *WaitingParts,
) error {
	begun := false
	for part := range read {
		if begun && b.hurried.Load() {
			return nil
		}
		begun = begun || len(part.Sources) > 0 // a part of deleted documents is no progress that a step can report
		var err error
		if part.Batch.Docs, err = MapAll(ctx, b.Index, &b.keys, part.Sources, 0); err != nil {
			return err
		}
		part.Sources = nil // frees the memory while the part waits
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
	for parts := 0; n > 0; parts++ {
		asked := min(n, most, quick(b.Index.Design(), parts))
		part, sources, err := b.Gather(ctx, shard, from, asked)
		if err != nil {
			return err
		}
		// The documents are large: read no more of them than are likely to be mapped.
		if most = stepDocuments; len(sources) < asked {
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

// quick returns how many documents are likely to be mapped in mapFor, at least one. parts is how many parts were read
// before: the last one of them may not be mapped yet, and if those before took no time, they had nothing to map.
func quick(d *design.Design, parts int) int {
	each := d.MapTime.Load()
	if each <= 0 {
		return min(unknownDocuments<<(2*max(0, parts-1)), stepDocuments)
	}
	return max(1, int(int64(mapFor)/each))
}

// Hurry makes steps, also those that are running, end as soon as they have mapped and written some documents, until it
// is called with false.
func (b *Build) Hurry(on bool) { b.hurried.Store(on) }

// Gather reads the part after from, out of the snapshot or the current store.
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

// together appends to part the parts that already wait and fit the same transaction, so that a store with slow commits
// gets fewer of them. from is the position before part. Scanned, picked and ordinary parts are not combined, because
// their progress is recorded in different ways.
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
			p.Received(more)
			part = &Batch{Docs: append(part.Docs, more.Docs...), UpTo: more.UpTo, Done: more.Done}
			next = more
		default:
			return part
		}
	}
}

package layer

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// batch is a part of a shard's changes, mapped and ready to be written.
type batch struct {
	docs []indexedDoc  // in the order of their sequences, or of a scan
	upTo buildPosition // every change up to here is in docs
	done bool          // there was nothing behind upTo
	cost int           // of docs together, in a pipeline
}

// add counts a batch that follows those before.
func (r *StepResult) add(b *batch) {
	r.Documents, r.Seq, r.Done = r.Documents+len(b.docs), b.upTo.reached(), b.done
	for i := range b.docs {
		for v := range b.docs[i].views {
			r.Rows += len(b.docs[i].views[v].rows)
		}
	}
}

// loadBytes bounds the JSON of the documents of one batch.
const loadBytes = 8 << 20

// gather reads a shard's changes in (from, goal], at most n, with their documents: sources are what there is to map.
// goal zero is the end. at is the cut as of which the feed is read, zero for as it is.
func (ix *Index) gather(
	r kv.Reader, keys space, cfg *config, shard ShardID, from buildPosition, goal, at Seq, n int,
) (*batch, []source, error) {
	switch {
	case from.scans:
		return ix.gatherScanned(r, keys, cfg, shard, from, goal, at, n)
	case from.picks && !at.IsZero():
		return ix.gatherMoved(r, keys, shard, from, goal, at, n)
	}
	// In a snapshot what had moved comes again, behind the cut of the build before.
	from.picks, from.picked = false, Seq{}
	entries, more, err := readEntriesAt(r, keys, shard, at, from.seq, goal, n)
	if err != nil {
		return nil, nil, err
	}
	sources, err := ix.load(r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	b := &batch{upTo: buildPosition{seq: goal}, done: !more && len(sources) == len(entries)}
	if len(sources) > 0 && (!b.done || goal.IsZero()) {
		b.upTo.seq = sources[len(sources)-1].seq
	} else if goal.IsZero() {
		b.upTo = from
	}
	return b, sources, nil
}

// gatherScanned is gather for a shard that is scanned.
func (ix *Index) gatherScanned(
	r kv.Reader, keys space, cfg *config, shard ShardID, from buildPosition, goal, at Seq, n int,
) (*batch, []source, error) {
	entries, upTo, err := scanEntries(r, keys, cfg, shard, from, n)
	if err != nil {
		return nil, nil, err
	}
	sources, err := ix.load(r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) < len(entries) {
		upTo = from
		upTo.after = sources[len(sources)-1].id
	}
	upTo.picks = !upTo.scans && !at.IsZero()
	return &batch{upTo: upTo, done: upTo.done(goal)}, sources, nil
}

// gatherMoved is gather for a shard that was scanned as of a cut: of what has moved since, the scan has met some before
// they moved.
func (ix *Index) gatherMoved(
	r kv.Reader, keys space, shard ShardID, from buildPosition, goal, at Seq, n int,
) (*batch, []source, error) {
	entries, more, err := readMoved(r, keys, shard, at, from.picked, from.seq, n)
	if err != nil {
		return nil, nil, err
	}
	upTo := buildPosition{seq: from.seq}
	if more {
		upTo.picks, upTo.picked = true, entries[len(entries)-1].seq
	}
	k := ix.keys(keys)
	if err := k.find(r)(); err != nil {
		return nil, nil, err
	}
	if entries, err = unindexed(r, &k, entries); err != nil {
		return nil, nil, err
	}
	sources, err := ix.load(r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) < len(entries) {
		upTo.picks, upTo.picked = true, sources[len(sources)-1].seq
	}
	return &batch{upTo: upTo, done: upTo.done(goal)}, sources, nil
}

// mapTime is how long a transaction may map: it has five seconds for everything.
const mapTime = 2 * time.Second

// collectAll reads and maps all that is left of several shards at one version, and of the purges. done is false, with
// no documents, if that is more than n documents, which is found out before any is mapped, or if mapping takes too
// long. goal zero is the end.
func (ix *Index) collectAll(
	t *txn, r kv.Reader, k *indexKeys, from map[ShardID]Seq, purges, goal Seq, n int,
) (*batch, error) {
	ctx, cancel := context.WithTimeout(script.Charge(t.ctx, ix.db.name, script.Query), mapTime)
	defer cancel()
	all, err := ix.purgedDocs(t, r, purges, goal, n, false)
	if err != nil || !all.done {
		return &batch{}, err
	}
	var lists [][]entry
	left := n - len(all.docs)
	for shard, seq := range from {
		entries, more, err := readEntries(r, t.keys, shard, seq, goal, left)
		if err != nil || more {
			return &batch{}, err
		}
		left -= len(entries)
		lists = append(lists, entries)
	}
	for _, entries := range lists {
		sources, err := ix.load(r, t.keys, entries)
		if err != nil || len(sources) < len(entries) {
			return &batch{}, err
		}
		docs, err := ix.mapAll(ctx, k, sources, 0)
		if err != nil && ctx.Err() != nil && t.ctx.Err() == nil {
			return &batch{}, nil
		}
		if err != nil {
			return nil, err
		}
		all.docs = append(all.docs, docs...)
	}
	slices.SortFunc(all.docs, func(a, b indexedDoc) int { return a.seq.Compare(b.seq) })
	return all, nil
}

// source is a document to be mapped: its JSON, or nil where it has no rows because it is deleted.
type source struct {
	id   string
	seq  Seq
	json []byte
}

// load reads the documents of entries, as many as fit loadBytes (at least one).
func (ix *Index) load(r kv.Reader, keys space, entries []entry) ([]source, error) {
	bodies, err := ix.readBodies(r, keys, entries)
	if err != nil {
		return nil, err
	}
	sources := make([]source, 0, len(entries))
	var arena []byte
	for i := range entries {
		e := &entries[i]
		s := source{id: e.id, seq: e.seq}
		if ix.maps(e) {
			from := len(arena)
			if arena, err = ix.appendDocument(arena, r, keys, e, &bodies[i]); err != nil {
				return nil, err
			}
			if len(arena) > from {
				s.json = arena[from:len(arena):len(arena)]
			}
		}
		sources = append(sources, s)
		if len(arena) > loadBytes {
			break
		}
	}
	return sources, nil
}

// appendDocument renders a document as map functions see it: with conflicts, where there are any, as in CouchDB.
func (ix *Index) appendDocument(dst []byte, r kv.Reader, keys space, e *entry, body *bodyRead) ([]byte, error) {
	stored, found, err := body.wait()
	if err != nil {
		return nil, err
	}
	if !found && e.moved != nil {
		return dst, nil // it was purged since the cut; what is left of the document has an entry behind it
	}
	if !found {
		return nil, corrupt("body of "+e.id, errors.New("it is missing"))
	}
	doc := stored.document(e.id, e.rev)
	switch {
	case e.branches == 1:
	case e.moved != nil:
		doc.Conflicts, doc.DeletedConflicts = e.moved.revs(false), e.moved.revs(true)
	default:
		if err := addConflicts(r, keys, doc); err != nil {
			return nil, err
		}
	}
	if ix.design.Options.LocalSeq {
		doc.LocalSeq = e.seq
	}
	return doc.AppendJSON(dst), nil
}

// mapAll runs the map functions over the sources, on all processors where there are many. limit, where not zero, is how long a function may take over a
// document at most.
func (ix *Index) mapAll(ctx context.Context, k *indexKeys, sources []source, limit time.Duration) ([]indexedDoc, error) {
	docs := make([]indexedDoc, len(sources))
	live := make([]int, 0, len(sources))
	views := make([]emission, len(sources)*len(ix.design.Views))
	for i, s := range sources {
		n := len(ix.design.Views)
		docs[i] = indexedDoc{id: s.id, seq: s.seq, views: views[i*n : (i+1)*n : (i+1)*n]}
		if s.json != nil {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		return docs, nil
	}
	maps, err := designOf(ix.db.store).compile(ctx, ix.design)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		maps = maps.Within(limit)
	}
	const alone = 50 // documents that are not worth another goroutine
	workers := min(runtime.GOMAXPROCS(0), (len(live)+alone-1)/alone)
	size := (len(live) + workers - 1) / workers
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for part := range slices.Chunk(live, size) {
		g.Go(guarded(func() error { return mapSome(ctx, maps, k, sources, docs, part) }))
	}
	err = g.Wait()
	ix.design.mapTime.Store(int64(time.Since(began)) / int64(len(live)))
	return docs, notNow(err)
}

// mapSome maps the sources at the given places and computes the keys of their rows.
func mapSome(ctx context.Context, maps *script.Maps, k *indexKeys, sources []source, docs []indexedDoc, places []int) error {
	texts := make([][]byte, len(places))
	for i, at := range places {
		texts[i] = sources[at].json
	}
	return maps.Map(ctx, texts, func(i int, result *script.Mapped) error {
		doc := &docs[places[i]]
		for v := range doc.views {
			e := &doc.views[v]
			if err := result.Errs[v]; err != nil {
				e.err = err.Error()
			} else {
				e.rows = keepRows(result.Rows[v])
			}
			e.prepare(k, v, doc.id)
		}
		return nil
	})
}

// keepRows copies rows out of the sandbox's memory.
func keepRows(rows []script.Row) []emitted {
	if len(rows) == 0 {
		return nil
	}
	size := 0
	for _, r := range rows {
		size += len(r.Key) + len(r.Value)
	}
	arena := make([]byte, 0, size)
	kept := make([]emitted, len(rows))
	for i, r := range rows {
		from := len(arena)
		arena = append(arena, r.Key...)
		kept[i].key = arena[from:len(arena):len(arena)]
		from = len(arena)
		arena = append(arena, r.Value...)
		kept[i].value = arena[from:len(arena):len(arena)]
	}
	return kept
}

package build

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
)

// Batch is a part of a shard's changes, mapped and ready to be written.
type Batch struct {
	Docs []indexedDoc        // in the order of their sequences, or of ids in a scan
	UpTo index.BuildPosition // docs contains every change up to here
	Done bool                // there are no changes after UpTo
	cost int                 // total cost of docs; set in a pipeline
}

// add adds a batch to the result.
func (r *StepResult) add(b *Batch) {
	r.Documents, r.Seq, r.Done = r.Documents+len(b.Docs), b.UpTo.Reached(), b.Done
	for i := range b.Docs {
		for v := range b.Docs[i].Views {
			r.Rows += len(b.Docs[i].Views[v].Rows)
		}
	}
}

// loadBytes limits the JSON size of the documents of one batch.
const loadBytes = 8 << 20

// gather reads at most n of a shard's changes in (from, goal], with their documents, which are the sources to map. A
// zero goal means the end of the feed. at is the cut at which the feed is read, or zero to read the current feed.
func gather(ix *index.Index,
	r kv.Reader, keys db.Space, cfg *db.Config, shard db.ShardID, from index.BuildPosition, goal, at db.Seq, n int,
) (*Batch, []source, error) {
	switch {
	case from.Scans:
		return gatherScanned(ix, r, keys, cfg, shard, from, goal, at, n)
	case from.Picks && !at.IsZero():
		return gatherMoved(ix, r, keys, shard, from, goal, at, n)
	}
	// In a snapshot, entries that had moved appear again, after the earlier build's cut.
	from.Picks, from.Picked = false, db.Seq{}
	entries, more, err := feed.ReadEntriesAt(r, keys, shard, at, from.Seq, goal, n)
	if err != nil {
		return nil, nil, err
	}
	sources, err := Load(ix, r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	b := &Batch{UpTo: index.BuildPosition{Seq: goal}, Done: !more && len(sources) == len(entries)}
	if len(sources) > 0 && (!b.Done || goal.IsZero()) {
		b.UpTo.Seq = sources[len(sources)-1].seq
	} else if goal.IsZero() {
		b.UpTo = from
	}
	return b, sources, nil
}

// gatherScanned is gather for a shard that is being scanned.
func gatherScanned(ix *index.Index,
	r kv.Reader, keys db.Space, cfg *db.Config, shard db.ShardID, from index.BuildPosition, goal, at db.Seq, n int,
) (*Batch, []source, error) {
	entries, upTo, err := scanEntries(r, keys, cfg, shard, from, n)
	if err != nil {
		return nil, nil, err
	}
	sources, err := Load(ix, r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) < len(entries) {
		upTo = from
		upTo.After = sources[len(sources)-1].id
	}
	upTo.Picks = !upTo.Scans && !at.IsZero()
	return &Batch{UpTo: upTo, Done: upTo.Done(goal)}, sources, nil
}

// gatherMoved is gather for the entries that moved after the cut, in a shard whose scan is complete. The scan has
// indexed some of their documents before they moved; these are skipped.
func gatherMoved(ix *index.Index,
	r kv.Reader, keys db.Space, shard db.ShardID, from index.BuildPosition, goal, at db.Seq, n int,
) (*Batch, []source, error) {
	entries, more, err := feed.ReadMoved(r, keys, shard, at, from.Picked, from.Seq, n)
	if err != nil {
		return nil, nil, err
	}
	upTo := index.BuildPosition{Seq: from.Seq}
	if more {
		upTo.Picks, upTo.Picked = true, entries[len(entries)-1].Seq
	}
	k := ix.Keys(keys)
	if err := k.Find(r)(); err != nil {
		return nil, nil, err
	}
	if entries, err = unindexed(r, &k, entries); err != nil {
		return nil, nil, err
	}
	sources, err := Load(ix, r, keys, entries)
	if err != nil {
		return nil, nil, err
	}
	if len(sources) < len(entries) {
		upTo.Picks, upTo.Picked = true, sources[len(sources)-1].seq
	}
	return &Batch{UpTo: upTo, Done: upTo.Done(goal)}, sources, nil
}

// mapTime limits the time spent mapping in a transaction, which has five seconds in total.
const mapTime = 2 * time.Second

// CollectAll reads and maps all remaining changes of several shards and all purges, at one version. It returns a batch
// that is not Done and has no documents if there are more than n documents, which it finds out before mapping any, or
// if mapping takes too long. A zero goal means the end.
func CollectAll(ix *index.Index,
	t *db.Txn, r kv.Reader, k *index.Keys, from map[db.ShardID]db.Seq, purges, goal db.Seq, n int,
) (*Batch, error) {
	ctx, cancel := context.WithTimeout(script.Charge(t.Ctx, ix.Db.Name(), script.Query), mapTime)
	defer cancel()
	all, err := purgedDocs(ix, t, r, purges, goal, n, false)
	if err != nil || !all.Done {
		return &Batch{}, err
	}
	var lists [][]feed.Entry
	left := n - len(all.Docs)
	for shard, seq := range from {
		entries, more, err := feed.ReadEntries(r, t.Keys, shard, seq, goal, left)
		if err != nil || more {
			return &Batch{}, err
		}
		left -= len(entries)
		lists = append(lists, entries)
	}
	for _, entries := range lists {
		sources, err := Load(ix, r, t.Keys, entries)
		if err != nil || len(sources) < len(entries) {
			return &Batch{}, err
		}
		docs, err := MapAll(ctx, ix, k, sources, 0)
		if err != nil && ctx.Err() != nil && t.Ctx.Err() == nil {
			return &Batch{}, nil
		}
		if err != nil {
			return nil, err
		}
		all.Docs = append(all.Docs, docs...)
	}
	slices.SortFunc(all.Docs, func(a, b indexedDoc) int { return a.seq.Compare(b.seq) })
	return all, nil
}

// source is a document to be mapped. json is nil if the document is deleted or is not indexed, and so has no rows.
type source struct {
	id   string
	seq  db.Seq
	json []byte
}

// Load reads the documents of entries, as many as fit loadBytes and at least one.
func Load(ix *index.Index, r kv.Reader, keys db.Space, entries []feed.Entry) ([]source, error) {
	bodies, err := ix.ReadBodies(r, keys, entries)
	if err != nil {
		return nil, err
	}
	sources := make([]source, 0, len(entries))
	var arena []byte
	for i := range entries {
		e := &entries[i]
		s := source{id: e.Id, seq: e.Seq}
		if ix.Maps(e) {
			from := len(arena)
			if arena, err = appendDocument(ix, arena, r, keys, e, &bodies[i]); err != nil {
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

// appendDocument appends the document as map functions see it. As in CouchDB, it includes any conflicts.
func appendDocument(ix *index.Index, dst []byte, r kv.Reader, keys db.Space, e *feed.Entry, body *rev.BodyRead) ([]byte,
	error) {
	stored, found, err := body.Wait()
	if err != nil {
		return nil, err
	}
	if !found && e.Moved != nil {
		return dst, nil // purged since the cut; the document may have a later entry
	}
	if !found {
		return nil, db.Corrupt("body of "+e.Id, errors.New("it is missing"))
	}
	doc := stored.Document(e.Id, e.Rev)
	switch {
	case e.Branches == 1:
	case e.Moved != nil:
		doc.Conflicts, doc.DeletedConflicts = e.Moved.Revs(false), e.Moved.Revs(true)
	default:
		if err := rev.AddConflicts(r, keys, doc); err != nil {
			return nil, err
		}
	}
	if ix.Design().Options.LocalSeq {
		doc.LocalSeq = e.Seq
	}
	return doc.AppendJSON(dst), nil
}

// MapAll runs the map functions over the sources, in parallel if there are many. A limit other than zero is the maximum
// time that a function may take for one document.
func MapAll(ctx context.Context, ix *index.Index, k *index.Keys, sources []source, limit time.Duration) ([]indexedDoc,
	error) {
	docs := make([]indexedDoc, len(sources))
	live := make([]int, 0, len(sources))
	views := make([]index.Emission, len(sources)*len(ix.Design().Views))
	for i, s := range sources {
		n := len(ix.Design().Views)
		docs[i] = indexedDoc{Id: s.id, seq: s.seq, Views: views[i*n : (i+1)*n : (i+1)*n]}
		if s.json != nil {
			live = append(live, i)
		}
	}
	if len(live) == 0 {
		return docs, nil
	}
	maps, err := design.StateOf(ix.Db.Store).Compile(ctx, ix.Design())
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		maps = maps.Within(limit)
	}
	const alone = 50 // too few documents to be worth another goroutine
	workers := min(runtime.GOMAXPROCS(0), (len(live)+alone-1)/alone)
	size := (len(live) + workers - 1) / workers
	g, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for part := range slices.Chunk(live, size) {
		g.Go(db.Guarded(func() error { return mapSome(ctx, maps, k, sources, docs, part) }))
	}
	err = g.Wait()
	each := int64(time.Since(began)) / int64(len(live))
	if err != nil { // not all of them were mapped
		each = max(each, ix.Design().MapTime.Load())
	}
	ix.Design().MapTime.Store(each)
	return docs, design.NotNow(err)
}

// mapSome maps the sources at the given places and computes the keys of their rows.
func mapSome(ctx context.Context, maps design.Maps, k *index.Keys, sources []source, docs []indexedDoc,
	places []int) error {
	texts := make([][]byte, len(places))
	for i, at := range places {
		texts[i] = sources[at].json
	}
	return maps.Map(ctx, texts, func(i int, result *script.Mapped) error {
		doc := &docs[places[i]]
		for v := range doc.Views {
			e := &doc.Views[v]
			if err := result.Errs[v]; err != nil {
				e.Err, e.Stopped = err.Error(), script.StoppedInTime(err.Error())
			} else {
				e.Rows = keepRows(result.Rows[v])
			}
			e.Prepare(k, v, doc.Id)
		}
		return nil
	})
}

// keepRows copies rows out of the sandbox's memory.
func keepRows(rows []script.Row) []index.Emitted {
	if len(rows) == 0 {
		return nil
	}
	size := 0
	for _, r := range rows {
		size += len(r.Key) + len(r.Value)
	}
	arena := make([]byte, 0, size)
	kept := make([]index.Emitted, len(rows))
	for i, r := range rows {
		from := len(arena)
		arena = append(arena, r.Key...)
		kept[i].Key = arena[from:len(arena):len(arena)]
		from = len(arena)
		arena = append(arena, r.Value...)
		kept[i].Value = arena[from:len(arena):len(arena)]
	}
	return kept
}

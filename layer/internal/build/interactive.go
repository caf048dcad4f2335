package build

import (
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// Interactive indexes (V4, rfc-008) are kept up to date by the transactions that write documents. The list of
// interactive indexes is part of the configuration, which every writer conflicts with, so each index has one sequence
// that divides its documents: its creation. Documents written later are indexed by their writers; documents written
// earlier and unchanged since are indexed by a build up to the creation. Then the index is ready: at every version it
// is as of the newest sequence.
//
//	created   the first design document with the signature is written: ViewCreation is set and a job enqueued
//	building  builds and catch-ups write the rows of documents whose entries have not moved, and conflict with
//	          writers that move them
//	ready     ViewUpdateSeq has reached ViewCreation
//	retired   the last design document with the signature is gone: now an ordinary index, as of this sequence

// SettleIndexes creates and retires interactive indexes after the transaction has written design documents.
func SettleIndexes(s *db.Store, t *db.Txn, database string) error {
	prefix := t.Keys.Sub(nil, keyspace.Designs)
	entries, err := db.ReadDesignEntries(t.GetRange(db.PrefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll}),
		len(prefix))
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, e := range entries {
		if e.Interactive != "" && now[e.Interactive] == "" {
			now[e.Interactive] = e.Id
		}
	}
	views := t.Keys.Sub(nil, keyspace.Views)
	for _, e := range t.Cfg.Interactive {
		if now[e.Interactive] != "" {
			continue
		}
		k := index.NewKeys(views, &design.Design{Signature: e.Interactive})
		if err := retireIndex(t, &k); err != nil {
			return err
		}
	}
	for _, signature := range slices.Sorted(maps.Keys(now)) {
		if t.Cfg.Maintains(signature) {
			continue
		}
		k := index.NewKeys(views, &design.Design{Signature: signature})
		if err := createIndex(t, &k); err != nil {
			return err
		}
		job := jobs.IndexJob{Database: database, Design: now[signature], Signature: signature}
		if err := jobs.Enqueue(s, t, jobs.IndexJobs, job.ID(), job.Encode(), 0); err != nil {
			return err
		}
	}
	return nil
}

// createIndex sets the creation of an interactive index. It also ends a build that began before the index was
// interactive.
func createIndex(t *db.Txn, k *index.Keys) error {
	if err := k.EnsureNumber(t); err != nil {
		return err
	}
	value, offset := t.StampNow(keyspace.IndexFormat)
	t.SetVersionstampedValue(k.InfoKey(keyspace.ViewCreation), value, offset)
	feed.EndCut(t, k.Signature)
	return index.EndBuild(t, k)
}

// retireIndex turns the index into an ordinary one. If it is ready, its sequence is that of this transaction.
func retireIndex(t *db.Txn, k *index.Keys) error {
	found := k.Find(t)
	created, at := t.Get(k.InfoKey(keyspace.ViewCreation)), t.Get(k.InfoKey(keyspace.ViewUpdateSeq))
	creation, err := index.ParseCreation(created)
	if err != nil {
		return err
	}
	if err := found(); err != nil {
		return err
	}
	seq, err := index.ParseIndexSeq(at)
	if err != nil {
		return err
	}
	if seq.Ready(creation) {
		value, offset := t.StampNow(keyspace.IndexSeqFormat)
		t.SetVersionstampedValue(k.InfoKey(keyspace.ViewUpdateSeq), tuple.AppendInt(value, int64(collate.Version)),
			offset)
	} else if seq.Collation == 0 {
		index.SetIndexSeq(t, k, db.Seq{}) // there are rows, but as of no sequence
	}
	t.Clear(k.InfoKey(keyspace.ViewCreation))
	return index.EndBuild(t, k)
}

// mapTimeInWrites limits the time that a map function may take for a document in the transaction that writes it, which
// has five seconds in total.
const mapTimeInWrites = time.Second

// InteractiveIndexes updates interactive indexes in writes. It implements the interface that package write declares.
type InteractiveIndexes struct{}

// indexWork is what a transaction writes into one interactive index.
type indexWork struct {
	keys index.Keys
	docs []indexedDoc // by outcome
}

// indexWorks is what a transaction writes into all interactive indexes.
type indexWorks struct {
	outcomes []*write.Outcome
	works    []indexWork
}

// mappedOutcome holds the rows of a document in one index. The attempts of a transaction share it, because mapping
// takes most of the time.
type mappedOutcome struct {
	signature string
	json      []byte
	views     []index.Emission
}

func (InteractiveIndexes) MapOutcomes(t *db.Txn, outcomes []*write.Outcome) (write.Indexing, error) {
	all := &indexWorks{outcomes: outcomes}
	documents := make([][]byte, len(outcomes)) // as JSON; nil if deleted
	for i, o := range outcomes {
		var err error
		if documents[i], err = o.Render(); err != nil {
			return nil, err
		}
	}
	for _, e := range t.Cfg.Interactive {
		design, err := design.Read(t, e.Id, e.Rev)
		if err != nil {
			return nil, err
		}
		ix := index.Of(t.Db).Index(design)
		w := indexWork{keys: ix.Keys(t.Keys), docs: make([]indexedDoc, len(outcomes))}
		found := w.keys.Find(t)
		if err := mapWritten(ix, t, &w, outcomes, documents); err != nil {
			return nil, err
		}
		if err := found(); err != nil {
			return nil, err
		}
		all.works = append(all.works, w)
	}
	return all, nil
}

func (all *indexWorks) Size(i int) (n int) {
	for j := range all.works {
		w := &all.works[j]
		n += w.docs[i].cost(&w.keys)
	}
	return n
}

// mapWritten maps the outcomes, except those that an earlier attempt of the transaction has mapped.
func mapWritten(ix *index.Index, t *db.Txn, w *indexWork, outcomes []*write.Outcome, documents [][]byte) error {
	var sources []source
	var places []int
	for i, o := range outcomes {
		s := source{id: o.Id, json: documents[i]}
		if !ix.Maps(&feed.Entry{Id: o.Id}) {
			s.json = nil
		}
		w.docs[i] = indexedDoc{Id: o.Id, fresh: true}
		if views := mappedBefore(o.Memo, ix.Design().Signature, s.json); views != nil {
			w.docs[i].Views = views
			continue
		}
		sources, places = append(sources, s), append(places, i)
	}
	docs, err := MapAll(script.Charge(t.Ctx, t.Db.Name(), script.Interactive), ix, &w.keys, sources, mapTimeInWrites)
	if err != nil {
		return err
	}
	for j, i := range places {
		w.docs[i].Views = docs[j].Views
		if memo := outcomes[i].Memo; memo != nil {
			*memo = append(*memo, mappedOutcome{ix.Design().Signature, sources[j].json, docs[j].Views})
		}
	}
	return nil
}

// mappedBefore returns what an earlier attempt emitted for the same document, or nil.
func mappedBefore(memo *write.IndexMemo, signature string, json []byte) []index.Emission {
	if memo == nil {
		return nil
	}
	for _, kept := range *memo {
		if m := kept.(mappedOutcome); m.signature == signature && string(m.json) == string(json) {
			return m.views
		}
	}
	return nil
}

func (InteractiveIndexes) Write(t *db.Txn, mapped write.Indexing) error {
	if all, ok := mapped.(*indexWorks); ok {
		for i := range all.works {
			if err := all.works[i].write(t, all.outcomes); err != nil {
				return err
			}
		}
	}
	if t.Redesigned {
		return SettleIndexes(t.Db.Store, t, t.Db.Name())
	}
	return nil
}

func (w *indexWork) write(t *db.Txn, outcomes []*write.Outcome) error {
	docs := w.docs[:0]
	for i, doc := range w.docs {
		if o := outcomes[i]; !o.Refused {
			doc.entry, doc.seq.Incarnation = o.Entry, t.Cfg.Incarnation
			docs = append(docs, doc)
		}
	}
	return applyWritten(t, &w.keys, docs)
}

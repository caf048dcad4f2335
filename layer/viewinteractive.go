package layer

import (
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/layer/collate"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// Interactive indexes (V4, rfc-008) are kept up to date by the transactions that write documents. Which these are is part of the configuration, which every
// writer conflicts with, so there is one sequence that cuts: the creation. What was written after it is indexed by its writer; what was written before and has not
// changed since, by a build up to the creation. Then the index is ready, and is as of the newest sequence at every version.
//
//	created   the first design document with the signature is written: ViewCreation is set, a job enqueued
//	building  builds and catch-ups write the rows of documents whose entry still is where it was, and conflict with writers that move it
//	ready     ViewUpdateSeq has reached ViewCreation
//	retired   the last design document with the signature is gone: it is an ordinary index as of this sequence

// settleIndexes notes which interactive indexes the transaction creates and which it retires. Design documents have been written.
func (s *dbStore) settleIndexes(t *txn, database string) error {
	prefix := t.keys.sub(nil, keyspace.Designs)
	entries, err := readDesignEntries(t.GetRange(prefixRange(prefix), kv.RangeOptions{Mode: kv.ModeWantAll}), len(prefix))
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, e := range entries {
		if e.interactive != "" && now[e.interactive] == "" {
			now[e.interactive] = e.id
		}
	}
	views := t.keys.sub(nil, keyspace.Views)
	for _, e := range t.cfg.interactive {
		if now[e.interactive] != "" {
			continue
		}
		k := newIndexKeys(views, &Design{Signature: e.interactive})
		if err := t.retireIndex(&k); err != nil {
			return err
		}
	}
	for _, signature := range slices.Sorted(maps.Keys(now)) {
		if t.cfg.maintains(signature) {
			continue
		}
		k := newIndexKeys(views, &Design{Signature: signature})
		if err := t.createIndex(&k); err != nil {
			return err
		}
		job := IndexJob{Database: database, Design: now[signature], Signature: signature}
		if err := s.enqueue(t, IndexJobs, job.ID(), job.Encode(), 0); err != nil {
			return err
		}
	}
	return nil
}

// createIndex also ends a build that began before writers knew of the index.
func (t *txn) createIndex(k *indexKeys) error {
	if err := k.ensureNumber(t); err != nil {
		return err
	}
	value, offset := t.stampNow(keyspace.IndexFormat)
	t.SetVersionstampedValue(k.infoKey(keyspace.ViewCreation), value, offset)
	t.endCut(k.signature)
	return endBuild(t, k)
}

// retireIndex makes the index an ordinary one: as of now, if it is ready.
func (t *txn) retireIndex(k *indexKeys) error {
	found := k.find(t)
	created, at := t.Get(k.infoKey(keyspace.ViewCreation)), t.Get(k.infoKey(keyspace.ViewUpdateSeq))
	creation, err := parseCreation(created)
	if err != nil {
		return err
	}
	if err := found(); err != nil {
		return err
	}
	seq, err := parseIndexSeq(at)
	if err != nil {
		return err
	}
	if seq.ready(creation) {
		value, offset := t.stampNow(keyspace.IndexSeqFormat)
		t.SetVersionstampedValue(k.infoKey(keyspace.ViewUpdateSeq), tuple.AppendInt(value, int64(collate.Version)), offset)
	} else if seq.collation == 0 {
		setIndexSeq(t, k, Seq{}) // there are rows, though as of no sequence
	}
	t.Clear(k.infoKey(keyspace.ViewCreation))
	return endBuild(t, k)
}

// mapTimeInWrites is how long a map function may take over a document in the transaction that writes it: that has five seconds for everything.
const mapTimeInWrites = time.Second

// interactiveIndexes is the indexes interface of writes.
type interactiveIndexes struct{}

// indexWork is what a transaction writes into one interactive index.
type indexWork struct {
	keys indexKeys
	docs []indexedDoc // by outcome
}

// indexWorks is what a transaction writes into all of them.
type indexWorks struct {
	outcomes []*outcome
	works    []indexWork
}

// mappedOutcome is a document as one index has it. Attempts of a transaction share it: mapping is the long part.
type mappedOutcome struct {
	signature string
	json      []byte
	views     []emission
}

func (interactiveIndexes) mapOutcomes(t *txn, outcomes []*outcome) (indexing, error) {
	all := &indexWorks{outcomes: outcomes}
	documents := make([][]byte, len(outcomes)) // as JSON; nil where it is deleted
	for i, o := range outcomes {
		var err error
		if documents[i], err = o.render(); err != nil {
			return nil, err
		}
	}
	for _, e := range t.cfg.interactive {
		design, err := t.design(e.id, e.rev)
		if err != nil {
			return nil, err
		}
		ix := t.db.Index(design)
		w := indexWork{keys: ix.keys(t.keys), docs: make([]indexedDoc, len(outcomes))}
		found := w.keys.find(t)
		if err := ix.mapWritten(t, &w, outcomes, documents); err != nil {
			return nil, err
		}
		if err := found(); err != nil {
			return nil, err
		}
		all.works = append(all.works, w)
	}
	return all, nil
}

func (all *indexWorks) size(i int) (n int) {
	for j := range all.works {
		w := &all.works[j]
		n += w.docs[i].cost(&w.keys)
	}
	return n
}

// mapWritten maps the outcomes, but for those that an earlier attempt of the transaction has mapped.
func (ix *Index) mapWritten(t *txn, w *indexWork, outcomes []*outcome, documents [][]byte) error {
	var sources []source
	var places []int
	for i, o := range outcomes {
		s := source{id: o.id, json: documents[i]}
		if !ix.maps(&entry{id: o.id}) {
			s.json = nil
		}
		w.docs[i] = indexedDoc{id: o.id, fresh: true}
		if views := mappedBefore(o.memo, ix.design.Signature, s.json); views != nil {
			w.docs[i].views = views
			continue
		}
		sources, places = append(sources, s), append(places, i)
	}
	docs, err := ix.mapAll(script.Charge(t.ctx, t.db.name, script.Interactive), &w.keys, sources, mapTimeInWrites)
	if err != nil {
		return err
	}
	for j, i := range places {
		w.docs[i].views = docs[j].views
		if memo := outcomes[i].memo; memo != nil {
			*memo = append(*memo, mappedOutcome{ix.design.Signature, sources[j].json, docs[j].views})
		}
	}
	return nil
}

// mappedBefore is what an earlier attempt made of the same document, nil if none did.
func mappedBefore(memo *indexMemo, signature string, json []byte) []emission {
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

func (interactiveIndexes) write(t *txn, mapped indexing) error {
	if all, ok := mapped.(*indexWorks); ok {
		for i := range all.works {
			if err := all.works[i].write(t, all.outcomes); err != nil {
				return err
			}
		}
	}
	if t.redesigned {
		return t.db.store.settleIndexes(t, t.db.name)
	}
	return nil
}

func (w *indexWork) write(t *txn, outcomes []*outcome) error {
	docs := w.docs[:0]
	for i, doc := range w.docs {
		if o := outcomes[i]; !o.refused {
			doc.entry, doc.seq.Incarnation = o.entry, t.cfg.incarnation
			docs = append(docs, doc)
		}
	}
	return t.applyWritten(&w.keys, docs)
}

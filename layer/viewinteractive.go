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

// maxIndexedBytes is what the rows of interactive indexes may add to a transaction of several edits before these are divided. maxIndexedEdit is what one
// document's may: a transaction ends at 10 MB.
const (
	maxIndexedBytes = 4_000_000
	maxIndexedEdit  = 8_500_000
)

func errEditTooLarge(id string) error {
	return errf(TooLarge, "transaction_too_large",
		"the edit of %s, with what the document has and had in interactive indexes and in branches that change with "+
			"it, is more than one transaction can hold", id)
}

// indexWork is what a transaction writes into one interactive index.
type indexWork struct {
	keys  indexKeys
	docs  []indexedDoc
	edits []*pendingEdit // that the documents come from; nil where it is a purge
}

// mapInput is what map functions see of a document after an edit.
type mapInput struct {
	edit *pendingEdit // nil for a purge
	id   string
	rev  Rev
	json []byte // nil where it is deleted

	doc    *Document
	body   *bodyRead // of doc, where it has to be read
	leaves func() ([]leafKV, error)
}

// mappedEdit is a document as one index has it. Attempts of a transaction share it: mapping is the long part.
type mappedEdit struct {
	signature string
	json      []byte
	views     []emission
}

// mapEdits maps the documents that the edits make, for every interactive index. It runs before anything is written.
func (t *txn) mapEdits(ps []pendingEdit, o WriteOptions) error {
	var inputs []mapInput
	for i := range ps {
		p := &ps[i]
		if p.err == nil && !p.settled && (p.plan.hasAdded || len(p.plan.replaced) > 0 || len(p.plan.changed) > 0) {
			inputs = append(inputs, p.mapInput(t))
		}
	}
	if err := t.mapInputs(inputs); err != nil {
		return err
	}
	sum, sizes := 0, make(map[*pendingEdit]int, len(inputs))
	for i := range t.indexing {
		w := &t.indexing[i]
		for j := range w.docs {
			n := w.docs[j].cost(&w.keys)
			sizes[w.edits[j]] += n
			sum += n
		}
	}
	if sum > maxIndexedBytes && len(inputs) > 1 && !o.Atomic {
		return errDivide
	}
	for p, n := range sizes {
		if n+p.e.size() > maxIndexedEdit {
			p.err = errEditTooLarge(p.e.ID)
		}
	}
	return nil
}

// mapInput is the winner after the edit, with conflicts, where there are any. Its reads are issued, and not waited for.
func (p *pendingEdit) mapInput(t *txn) mapInput {
	w := p.plan.winner()
	in := mapInput{edit: p, id: p.e.ID, rev: w.rev}
	if w.deleted {
		return in
	}
	if w == &p.plan.added {
		in.doc = &Document{ID: p.e.ID, Rev: w.rev, Body: p.body, Attachments: p.attachments}
	} else {
		body := readBody(t, t.keys, p.e.ID, w.rev)
		in.body = &body
	}
	if p.plan.branches > 1 {
		rows := readTree(t, t.keys, p.e.ID)
		in.leaves = func() ([]leafKV, error) {
			tree, err := waitTree(rows, t.keys, p.e.ID)
			if err != nil {
				return nil, err
			}
			return p.leavesAfter(tree.leaves), nil
		}
	}
	return in
}

// leavesAfter is what the edit makes of a document's leaves, winner last.
func (p *pendingEdit) leavesAfter(leaves []leafKV) []leafKV {
	after := slices.DeleteFunc(leaves, func(l leafKV) bool {
		return slices.ContainsFunc(p.plan.replaced, func(r *leafKV) bool { return r.rev == l.rev })
	})
	if p.plan.hasAdded {
		after = append(after, p.plan.added)
	}
	slices.SortFunc(after, func(a, b leafKV) int { return a.order(&b) })
	return after
}

// mapKept maps what a purge leaves of a document, for every interactive index. kept are its leaves, winner last.
func (t *txn) mapKept(id string, kept []leafKV) error {
	if len(t.cfg.interactive) == 0 {
		return nil
	}
	in := mapInput{id: id}
	if n := len(kept); n > 0 && !kept[n-1].deleted {
		body := readBody(t, t.keys, id, kept[n-1].rev)
		in.rev, in.body = kept[n-1].rev, &body
		in.leaves = func() ([]leafKV, error) { return kept, nil }
	}
	return t.mapInputs([]mapInput{in})
}

// mapInputs fills t.indexing.
func (t *txn) mapInputs(inputs []mapInput) error {
	for i := range inputs {
		if err := inputs[i].render(); err != nil {
			return err
		}
	}
	for _, e := range t.cfg.interactive {
		design, err := t.design(e.id, e.rev)
		if err != nil {
			return err
		}
		ix := &Index{db: t.db, design: design}
		w := indexWork{keys: ix.keys(t.keys), docs: make([]indexedDoc, len(inputs)), edits: make([]*pendingEdit, len(inputs))}
		found := w.keys.find(t)
		if err := ix.mapWritten(t, &w, inputs); err != nil {
			return err
		}
		if err := found(); err != nil {
			return err
		}
		t.indexing = append(t.indexing, w)
	}
	return nil
}

// render waits for the input's reads.
func (in *mapInput) render() error {
	if in.body != nil {
		stored, found, err := in.body.wait()
		if err != nil {
			return err
		}
		if !found {
			return corrupt("body of "+in.id, errNoBody)
		}
		in.doc = stored.document(in.id, in.rev)
	}
	if in.doc == nil {
		return nil
	}
	if in.leaves != nil {
		leaves, err := in.leaves()
		if err != nil {
			return err
		}
		tree := documentTree{leaves: leaves}
		in.doc.Conflicts, in.doc.DeletedConflicts = tree.conflicts(false), tree.conflicts(true)
	}
	in.json = in.doc.AppendJSON(nil)
	return nil
}

// mapWritten maps the inputs, but for those that an earlier attempt of the transaction has mapped.
func (ix *Index) mapWritten(t *txn, w *indexWork, inputs []mapInput) error {
	var sources []source
	var places []int
	for i := range inputs {
		in := &inputs[i]
		s := source{id: in.id, json: in.json}
		if !ix.maps(&entry{id: in.id}) {
			s.json = nil
		}
		w.docs[i], w.edits[i] = indexedDoc{id: in.id, fresh: true}, in.edit
		if views := in.edit.mappedBefore(ix.design.Signature, s.json); views != nil {
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
		if p := inputs[i].edit; p != nil {
			p.mapped = append(p.mapped, mappedEdit{ix.design.Signature, sources[j].json, docs[j].views})
		}
	}
	return nil
}

// mappedBefore is what an earlier attempt made of the same document, nil if none did.
func (p *pendingEdit) mappedBefore(signature string, json []byte) []emission {
	if p == nil {
		return nil
	}
	for i := range p.mapped {
		if m := &p.mapped[i]; m.signature == signature && string(m.json) == string(json) {
			return m.views
		}
	}
	return nil
}

// index writes what was mapped. Documents have been written.
func (t *txn) index() error {
	for i := range t.indexing {
		w := &t.indexing[i]
		docs := w.docs[:0]
		for j, doc := range w.docs {
			doc.entry = max(t.entries, 1) - 1
			if p := w.edits[j]; p != nil {
				if p.err != nil {
					continue
				}
				doc.entry = p.entry
			}
			doc.seq.Incarnation = t.cfg.incarnation
			docs = append(docs, doc)
		}
		if err := t.applyWritten(&w.keys, docs); err != nil {
			return err
		}
	}
	if t.redesigned {
		return t.db.store.settleIndexes(t, t.db.name)
	}
	return nil
}

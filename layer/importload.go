package layer

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// importedRecord is a record that waits for its transaction.
type importedRecord struct {
	t       recordType
	payload []byte
}

// load reads the records of a file that was checked, a transaction's worth at a time.
func (im *importer) load(ctx context.Context, r io.Reader) error {
	rr, err := newRecordReader(r)
	if err != nil {
		return err
	}
	var batch []importedRecord
	size := 0
	for {
		t, err := rr.next()
		if err != nil {
			return err // the file was whole a moment ago
		}
		batch = append(batch, importedRecord{t, bytes.Clone(rr.payload)})
		size += len(rr.payload)
		if size < importBytes && len(batch) < importRows && t != recordEnd {
			continue
		}
		if err := im.apply(ctx, batch); err != nil || t == recordEnd {
			return err
		}
		batch, size = batch[:0], 0
	}
}

// apply writes a batch of records in one transaction.
func (im *importer) apply(ctx context.Context, batch []importedRecord) error {
	var after importedDoc
	_, err := im.transact(ctx, func(t *txn) error {
		doc := im.doc // as before the batch: the transaction may run again
		doc.leaves, doc.attachments = slices.Clone(im.doc.leaves), slices.Clone(im.doc.attachments)
		for _, r := range batch {
			if err := im.record(t, &doc, r); err != nil {
				return err
			}
		}
		after = doc
		return nil
	})
	im.doc = after
	return err
}

// record writes one record. A document is complete when a record comes that is not its own.
func (im *importer) record(t *txn, doc *importedDoc, r importedRecord) error {
	switch r.t {
	case recordChunk:
		return importChunk(t, r.payload)
	case recordBranches:
		return im.branches(t, doc, r.payload)
	}
	if err := im.finish(t, doc); err != nil {
		return err
	}
	*doc = importedDoc{}
	switch r.t {
	case recordDocument:
		id, _, err := tuple.TakeString(r.payload)
		if err != nil {
			return err
		}
		doc.id = id
		return im.replace(t, id)
	case recordLocals:
		t.ClearRange(prefixRange(t.keys.sub(nil, keyspace.Local)))
	case recordLocal:
		id, rest, err := tuple.TakeString(r.payload)
		if err != nil {
			return err
		}
		n, body, err := tuple.TakeInt(rest)
		if err != nil {
			return err
		}
		t.writeLocal(id, n, body)
	}
	return nil
}

func importChunk(t *txn, payload []byte) error {
	id, rest, err := tuple.TakeString(payload)
	if err != nil {
		return err
	}
	attachment, rest, err := tuple.TakeUUID(rest)
	if err != nil {
		return err
	}
	chunk, data, err := tuple.TakeInt(rest)
	if err != nil {
		return err
	}
	t.Set(t.close(tuple.AppendInt(t.keys.attachment(t.open(), id, attachment), chunk)), data)
	return nil
}

// branches writes the bodies of some leaves. Their KVs are written when all of the document's leaves are known.
func (im *importer) branches(t *txn, doc *importedDoc, payload []byte) error {
	_, rest, err := tuple.TakeString(payload)
	if err != nil {
		return err
	}
	if doc.seq, rest, err = takeSeq(rest); err != nil {
		return err
	}
	doc.described = true
	for len(rest) > 0 {
		var l leafKV
		var body []byte
		if l.deleted, rest, err = tuple.TakeBool(rest); err == nil {
			l.rev, rest, err = takeRev(rest)
		}
		if err == nil {
			l.ancestors, rest, err = tuple.TakeNested(rest)
		}
		if err == nil {
			body, rest, err = tuple.TakeBytes(rest)
		}
		if err != nil {
			return err
		}
		if err := im.body(t, doc, &l, body); err != nil {
			return err
		}
		doc.leaves = append(doc.leaves, l)
	}
	return nil
}

func (im *importer) body(t *txn, doc *importedDoc, l *leafKV, stored []byte) error {
	body, err := parseBody(stored)
	if err != nil {
		return err
	}
	t.writeBody(doc.id, l.rev, stored)
	t.countFor(doc.id, counterBodies, int64(len(stored)))
	for _, a := range body.attachments { // each once, however many leaves have it
		if !slices.ContainsFunc(doc.attachments, func(b Attachment) bool { return b.ID == a.ID }) {
			doc.attachments = append(doc.attachments, a)
		}
	}
	if isDesign(doc.id) && (len(doc.leaves) == 0 || l.order(&doc.leaves[len(doc.leaves)-1]) > 0) {
		doc.design = bytes.Clone(body.body) // leaves come in the order of their keys: the last one wins
	}
	return nil
}

// finish writes the branches, the entry in the feed at the sequence the document had, the lists and the counters.
func (im *importer) finish(t *txn, doc *importedDoc) error {
	if doc.id == "" {
		return nil
	}
	if !doc.described {
		// Its attachments were gone when they were to be written: it comes again, as do they.
		t.ClearRange(prefixRange(t.keys.doc(nil, keyspace.Attachments, doc.id)))
		return nil
	}
	n := len(doc.leaves)
	if n == 0 {
		return nil
	}
	slices.SortFunc(doc.leaves, func(a, b leafKV) int { return a.order(&b) })
	for i := range doc.leaves[:n-1] {
		l := &doc.leaves[i]
		t.Set(t.close(t.keys.revision(t.open(), doc.id, l.deleted, l.rev)), t.close(appendLeafValue(t.open(), l.ancestors)))
	}
	w := &doc.leaves[n-1]
	t.Set(t.close(t.keys.revision(t.open(), doc.id, w.deleted, w.rev)), t.close(appendWinnerAt(t.open(), doc.seq, int64(n), w.ancestors)))
	entry := t.close(t.keys.entry(t.open(), t.cfg.shardAt(doc.id, doc.seq), doc.seq))
	t.Set(entry, t.close(appendEntryValue(t.open(), doc.id, w.rev, int64(n), w.deleted)))
	t.countDocument(doc.id, w.deleted, 1)
	for i := range doc.attachments {
		t.countFor(doc.id, counterStored, doc.attachments[i].EncodedLength)
		t.countFor(doc.id, counterContent, doc.attachments[i].Length)
	}
	if w.deleted {
		return nil
	}
	t.Set(t.close(t.keys.doc(t.open(), keyspace.AllDocs, doc.id)), t.close(appendRev(t.open(), w.rev)))
	if isDesign(doc.id) {
		v := im.s.o.Validator
		watched := v != nil && v.Watches((&Document{ID: doc.id, Rev: w.rev, Body: doc.design}).AppendJSON(nil))
		t.Set(t.close(t.keys.doc(t.open(), keyspace.Designs, doc.id)), appendDesignValue(nil, w.rev, watched))
	}
	return nil
}

// replace removes what the file said of a document before: exports that were stitched or continued say it again.
func (im *importer) replace(t *txn, id string) error {
	prefix := t.keys.doc(nil, keyspace.Revisions, id)
	leaves, err := readLeaves(getRange(t, prefix, kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact}), len(prefix), false, nil)
	if err != nil || len(leaves) == 0 {
		return err
	}
	w := &leaves[0]
	t.ClearRange(prefixRange(prefix))
	t.Clear(t.keys.entry(nil, t.cfg.shardAt(id, w.seq), w.seq))
	t.Clear(t.keys.doc(nil, keyspace.AllDocs, id))
	t.Clear(t.keys.doc(nil, keyspace.Designs, id))
	t.countDocument(id, w.deleted, -1)
	return t.purgeBodies(id, nil)
}

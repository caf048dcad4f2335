package layer

import (
	"bytes"
	"context"
	"io"
	"maps"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// importedDoc is the document whose records are being read.
type importedDoc struct {
	exportedDocument
	seen        int64             // leaves so far; the last one announced is the winner
	attachments map[[16]byte]bool // leaves may share them
}

// importedRecord is a record that waits for its transaction.
type importedRecord struct {
	t       recordType
	payload []byte
	before  kv.RangeIterator // of a document: what the file has said of it so far, being read
}

// importBatch is what one transaction takes up.
type importBatch struct {
	records []importedRecord
	ids     map[string]bool
	size    int
}

func (b *importBatch) full() bool { return b.size >= importBytes || len(b.records) >= importRows }

// fits reports whether a record can go into the same transaction as those before: not where that would be too large, nor a document for the second
// time, since what is known of documents is read at the transaction's beginning.
func (b *importBatch) fits(t recordType, payload []byte) bool {
	if b.size > 0 && b.size+len(payload) > importBytes {
		return false
	}
	if t != recordDocument {
		return true
	}
	id, _, err := tuple.TakeString(payload)
	return err != nil || !b.ids[id]
}

func (b *importBatch) add(t recordType, payload []byte) {
	b.records = append(b.records, importedRecord{t: t, payload: bytes.Clone(payload)})
	b.size += len(payload)
	if id, _, err := tuple.TakeString(payload); t == recordDocument && err == nil {
		b.ids[id] = true
	}
}

// load reads the records of a file that was checked, a transaction's worth at a time.
func (im *importer) load(ctx context.Context, r io.Reader) error {
	rr, _, err := newRecordReader(r)
	if err != nil {
		return err
	}
	batch := importBatch{ids: map[string]bool{}}
	apply := func() error {
		err := im.apply(ctx, batch.records)
		batch.records, batch.size = batch.records[:0], 0
		clear(batch.ids)
		return err
	}
	for {
		t, err := rr.next()
		if err != nil {
			return err // the file was whole a moment ago
		}
		if !batch.fits(t, rr.payload) {
			if err := apply(); err != nil {
				return err
			}
		}
		batch.add(t, rr.payload)
		if t == recordEnd || batch.full() {
			if err := apply(); err != nil || t == recordEnd {
				return err
			}
		}
	}
}

// apply writes a batch of records: in one transaction, or in several where what they replace is too much for one.
func (im *importer) apply(ctx context.Context, batch []importedRecord) error {
	for len(batch) > 0 {
		var after importedDoc
		n, err := im.transactPart(ctx, len(batch), func(t *txn, n int) (int, error) {
			doc := im.doc // as before the batch: the transaction may run again
			doc.attachments = maps.Clone(im.doc.attachments)
			tried, err := im.records(t, &doc, batch[:n])
			after = doc
			return tried, err
		})
		if err != nil {
			return err
		}
		im.doc, batch = after, batch[n:]
	}
	return nil
}

// records takes up records one after the other; with an error tried is how many it has come to.
func (im *importer) records(t *txn, doc *importedDoc, batch []importedRecord) (tried int, err error) {
	for i := range batch {
		if r := &batch[i]; r.t == recordDocument {
			id, _, err := tuple.TakeString(r.payload)
			if err != nil {
				return i, err
			}
			r.before = getRange(t, t.keys.doc(nil, keyspace.Revisions, id),
				kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
		}
	}
	for i := range batch {
		if err := im.record(t, doc, &batch[i]); err != nil {
			return i + 1, err
		}
	}
	return len(batch), nil
}

func (im *importer) record(t *txn, doc *importedDoc, r *importedRecord) error {
	switch r.t {
	case recordChunk:
		return doc.chunk(t, r.payload)
	case recordBranches:
		return im.branches(t, doc, r.payload)
	}
	if doc.seen < doc.leaves { // it comes again, as do its attachments
		if err := doc.clear(t, nil); err != nil {
			return err
		}
	}
	*doc = importedDoc{}
	switch r.t {
	case recordDocument:
		if err := doc.parse(r.payload); err != nil {
			return err
		}
		return doc.replace(t, r.before)
	case recordLocals:
		t.ClearRange(prefixRange(t.keys.sub(nil, keyspace.Local)))
	case recordLocal:
		var l exportedLocal
		if err := l.parse(r.payload); err != nil {
			return err
		}
		t.writeLocal(l.id, l.n, l.body)
	case recordPurges:
		t.ClearRange(prefixRange(t.keys.sub(nil, keyspace.Purges)))
	case recordPurge:
		t.rememberPurge(r.payload)
	}
	return nil
}

func (doc *importedDoc) chunk(t *txn, payload []byte) error {
	var c exportedChunk
	if err := c.parse(payload); err != nil {
		return err
	}
	t.Set(t.close(tuple.AppendInt(t.keys.attachment(t.open(), doc.id, c.attachment), c.number)), c.data)
	return nil
}

func (im *importer) branches(t *txn, doc *importedDoc, payload []byte) error {
	for rest := payload; len(rest) > 0; {
		l, after, err := takeLeaf(rest)
		if err != nil {
			return err
		}
		rest = after
		doc.body(t, &l)
		if doc.seen++; doc.seen < doc.leaves {
			t.Set(t.close(t.keys.revision(t.open(), doc.id, l.deleted, l.rev)), appendLeafValue(nil, l.ancestors))
			continue
		}
		if err := im.winner(t, doc, &l); err != nil {
			return err
		}
	}
	return nil
}

// body writes a leaf's body and counts it, and its attachments, as a writer would.
func (doc *importedDoc) body(t *txn, l *exportedLeaf) {
	t.writeBody(doc.id, l.rev, l.stored, l.body.attachments)
	t.countFor(doc.id, counterBodies, int64(len(l.stored)))
	for _, a := range l.body.attachments {
		if doc.attachments[a.ID] {
			continue
		}
		if doc.attachments == nil {
			doc.attachments = map[[16]byte]bool{}
		}
		doc.attachments[a.ID] = true
		t.bear(doc.id, &a)
		t.countFor(doc.id, counterStored, a.EncodedLength)
		t.countFor(doc.id, counterContent, a.Length)
	}
}

// winner writes the winning branch, the entry in the feed at the sequence the document had, and the lists.
func (im *importer) winner(t *txn, doc *importedDoc, w *exportedLeaf) error {
	t.Set(t.close(t.keys.revision(t.open(), doc.id, w.deleted, w.rev)), appendWinnerAt(nil, doc.winner, doc.leaves, w.ancestors))
	entry := t.close(t.keys.entry(t.open(), t.cfg.shardAt(doc.id, doc.winner), doc.winner))
	t.Set(entry, t.close(appendEntryValue(t.open(), doc.id, w.rev, doc.leaves, w.deleted)))
	t.countDocument(doc.id, w.deleted, 1)
	if w.deleted {
		return nil
	}
	t.Set(t.close(t.keys.doc(t.open(), keyspace.AllDocs, doc.id)), t.close(appendRev(t.open(), w.rev)))
	if isDesign(doc.id) {
		e, err := writeOf(im.s).designEntry(t, &Document{ID: doc.id, Rev: w.rev, Body: w.body.body})
		if err != nil {
			return err
		}
		t.Set(t.close(t.keys.doc(t.open(), keyspace.Designs, doc.id)), e.appendValue(nil))
	}
	return nil
}

// replace removes what the file said of a document before: exports that were stitched or continued say it again.
func (doc *importedDoc) replace(t *txn, before kv.RangeIterator) error {
	leaves, err := readLeaves(before, len(t.keys.doc(nil, keyspace.Revisions, doc.id)), false, nil)
	if err != nil || len(leaves) == 0 {
		return err
	}
	return doc.clear(t, &leaves[0])
}

// clear removes a document. winner is nil where it had not come yet.
func (doc *importedDoc) clear(t *txn, winner *leafKV) error {
	t.ClearRange(prefixRange(t.keys.doc(nil, keyspace.Revisions, doc.id)))
	if winner != nil {
		t.Clear(t.keys.entry(nil, t.cfg.shardAt(doc.id, winner.seq), winner.seq))
		t.Clear(t.keys.doc(nil, keyspace.AllDocs, doc.id))
		t.Clear(t.keys.doc(nil, keyspace.Designs, doc.id))
		t.countDocument(doc.id, winner.deleted, -1)
	}
	if err := t.purgeBodies(doc.id, nil, nil); err != nil {
		return err
	}
	t.ClearRange(prefixRange(t.keys.doc(nil, keyspace.Attachments, doc.id))) // also such as no leaf has come for
	return nil
}

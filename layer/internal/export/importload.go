package export

import (
	"bytes"
	"context"
	"io"
	"maps"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// importedDoc is the document whose records are being read.
type importedDoc struct {
	Document
	seen        int64             // leaves so far; the last of those announced is the winner
	attachments map[[16]byte]bool // leaves may share them
}

// importedRecord is a record that waits for its transaction.
type importedRecord struct {
	t       RecordType
	payload []byte
	before  kv.RangeIterator // for a RecordDocument: pending read of what earlier records have written of the document
}

// importBatch is what one transaction imports.
type importBatch struct {
	records []importedRecord
	ids     map[string]bool
	size    int
}

func (b *importBatch) full() bool { return b.size >= importBytes || len(b.records) >= importRows }

// fits reports whether a record can go into the same transaction: not if that becomes too large, and not for the second
// RecordDocument of a document, because existing documents are read at the beginning of the transaction.
func (b *importBatch) fits(t RecordType, payload []byte) bool {
	if b.size > 0 && b.size+len(payload) > importBytes {
		return false
	}
	if t != RecordDocument {
		return true
	}
	id, _, err := tuple.TakeString(payload)
	return err != nil || !b.ids[id]
}

func (b *importBatch) add(t RecordType, payload []byte) {
	b.records = append(b.records, importedRecord{t: t, payload: bytes.Clone(payload)})
	b.size += len(payload)
	if id, _, err := tuple.TakeString(payload); t == RecordDocument && err == nil {
		b.ids[id] = true
	}
}

// Load imports the records of a checked file, one transaction after another.
func (im *importer) Load(ctx context.Context, r io.Reader) error {
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
			return err // the file was complete when it was checked
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

// apply writes a batch of records in one transaction, or in several if it replaces too much.
func (im *importer) apply(ctx context.Context, batch []importedRecord) error {
	for len(batch) > 0 {
		var after importedDoc
		n, err := im.transactPart(ctx, len(batch), func(t *db.Txn, n int) (int, error) {
			doc := im.doc // a copy, because the transaction may run again
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

// records imports records in order. With an error, tried is how many it has tried.
func (im *importer) records(t *db.Txn, doc *importedDoc, batch []importedRecord) (tried int, err error) {
	for i := range batch {
		if r := &batch[i]; r.t == RecordDocument {
			id, _, err := tuple.TakeString(r.payload)
			if err != nil {
				return i, err
			}
			r.before = db.GetRange(t, t.Keys.Doc(nil, keyspace.Revisions, id),
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

func (im *importer) record(t *db.Txn, doc *importedDoc, r *importedRecord) error {
	switch r.t {
	case recordChunk:
		return doc.chunk(t, r.payload)
	case recordBranches:
		return im.branches(t, doc, r.payload)
	}
	// The document comes again, with its attachments.
	if doc.seen < doc.leaves {
		if err := doc.clear(t, nil); err != nil {
			return err
		}
	}
	*doc = importedDoc{}
	switch r.t {
	case RecordDocument:
		if err := doc.Parse(r.payload); err != nil {
			return err
		}
		return doc.replace(t, r.before)
	case recordLocals:
		t.ClearRange(db.PrefixRange(t.Keys.Sub(nil, keyspace.Local)))
	case RecordLocal:
		var l Local
		if err := l.Parse(r.payload); err != nil {
			return err
		}
		write.WriteLocal(t, l.id, l.n, l.body)
	case recordPurges:
		t.ClearRange(db.PrefixRange(t.Keys.Sub(nil, keyspace.Purges)))
	case RecordPurge:
		write.RememberPurge(t, r.payload)
	}
	return nil
}

func (doc *importedDoc) chunk(t *db.Txn, payload []byte) error {
	var c exportedChunk
	if err := c.parse(payload); err != nil {
		return err
	}
	t.Set(t.Close(tuple.AppendInt(t.Keys.Attachment(t.Open(), doc.id, c.attachment), c.number)), c.data)
	return nil
}

func (im *importer) branches(t *db.Txn, doc *importedDoc, payload []byte) error {
	for rest := payload; len(rest) > 0; {
		l, after, err := takeLeaf(rest)
		if err != nil {
			return err
		}
		rest = after
		doc.body(t, &l)
		if doc.seen++; doc.seen < doc.leaves {
			t.Set(t.Close(t.Keys.Revision(t.Open(), doc.id, l.Deleted, l.Rev)), rev.AppendLeafValue(nil, &l.LeafKV))
			continue
		}
		if err := im.winner(t, doc, &l); err != nil {
			return err
		}
	}
	return nil
}

// body writes a leaf's body, and counts it and its attachments, as a normal write does.
func (doc *importedDoc) body(t *db.Txn, l *Leaf) {
	rev.WriteBody(t, doc.id, l.Rev, l.stored, l.body.Attachments)
	l.Size, l.LeafKV.Attachments = int32(len(l.stored)), int32(len(l.body.Attachments))
	for _, a := range l.body.Attachments {
		if doc.attachments[a.ID] {
			continue
		}
		if doc.attachments == nil {
			doc.attachments = map[[16]byte]bool{}
		}
		doc.attachments[a.ID] = true
		rev.BeginCounting(t, doc.id, &a)
		t.CountFor(doc.id, db.CounterStored, a.EncodedLength)
		t.CountFor(doc.id, db.CounterContent, a.Length)
	}
}

// winner writes the winning branch, the feed entry at the document's original sequence, and the lists.
func (im *importer) winner(t *db.Txn, doc *importedDoc, w *Leaf) error {
	t.Set(t.Close(t.Keys.Revision(t.Open(), doc.id, w.Deleted, w.Rev)),
		rev.AppendWinnerAt(nil, doc.winner, doc.leaves, &w.LeafKV))
	entry := t.Close(t.Keys.Entry(t.Open(), t.Cfg.ShardAt(doc.id, doc.winner), doc.winner))
	t.Set(entry, t.Close(feed.AppendEntryValue(t.Open(), doc.id, w.Rev, doc.leaves, w.Deleted)))
	write.CountDocument(t, doc.id, w.Deleted, 1)
	if w.Deleted {
		return nil
	}
	t.Set(t.Close(t.Keys.Doc(t.Open(), keyspace.AllDocs, doc.id)), t.Close(db.AppendRev(t.Open(), w.Rev)))
	if db.IsDesign(doc.id) {
		e, err := write.StateOf(im.s).DesignEntry(t, &rev.Document{ID: doc.id, Rev: w.Rev, Body: w.body.Body})
		if err != nil {
			return err
		}
		t.Set(t.Close(t.Keys.Doc(t.Open(), keyspace.Designs, doc.id)), write.AppendValue(&e, nil))
	}
	return nil
}

// replace removes what earlier records have written of a document. Exports that took several transactions or were
// continued may contain a document again.
func (doc *importedDoc) replace(t *db.Txn, before kv.RangeIterator) error {
	leaves, err := rev.ReadLeaves(before, len(t.Keys.Doc(nil, keyspace.Revisions, doc.id)), false, nil)
	if err != nil || len(leaves) == 0 {
		return err
	}
	return doc.clear(t, &leaves[0])
}

// clear removes a document. winner is nil if it has not been written yet.
func (doc *importedDoc) clear(t *db.Txn, winner *rev.LeafKV) error {
	t.ClearRange(db.PrefixRange(t.Keys.Doc(nil, keyspace.Revisions, doc.id)))
	if winner != nil {
		t.Clear(t.Keys.Entry(nil, t.Cfg.ShardAt(doc.id, winner.Seq), winner.Seq))
		t.Clear(t.Keys.Doc(nil, keyspace.AllDocs, doc.id))
		t.Clear(t.Keys.Doc(nil, keyspace.Designs, doc.id))
		write.CountDocument(t, doc.id, winner.Deleted, -1)
	}
	if err := write.PurgeBodies(t, doc.id, nil, nil, nil); err != nil {
		return err
	}
	// Including data whose leaf has not come.
	t.ClearRange(db.PrefixRange(t.Keys.Doc(nil, keyspace.Attachments, doc.id)))
	return nil
}

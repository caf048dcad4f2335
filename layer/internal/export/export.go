package export

import (
	"context"
	"io"

	"github.com/divandb/divan/layer/internal/alldocs"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Export writes the database to w in the format that Import reads (C8): every document with all leaves, including
// deleted ones, and their histories; attachments; _local documents; security; settings; shard maps; sequences; and the
// purge history. It leaves out indexes, unfinished uploads and what compaction would remove.
//
// If the engine holds snapshots, the export is one snapshot. Otherwise it reads several transactions, and the result is
// the state at the end. If writing to w fails, the export can be continued from a position that Read finds; nil begins
// a new export. A continued export also is the state at its end. Export returns Conflict if from belongs to another
// database, or if too many documents have been purged since.
//
// It holds only a few bodies and the histories of one document in memory; attachments are streamed.
func (d Database) Export(ctx context.Context, w io.Writer, from *Position) error {
	s, err := rev.OpenStream(ctx, d.Database)
	if err != nil {
		return err
	}
	defer s.Close()
	x := &exporter{s: s, w: recordWriter{w: w}}
	if from == nil {
		err = x.begin()
	} else {
		err = x.proceed(from)
	}
	if err != nil {
		return err
	}
	// With several transactions, a later one may see what an earlier one could not. Continue until the last documents
	// and the settings are read in one transaction. _local documents come first, so that a replication checkpoint is
	// not newer than the documents that it refers to.
	for {
		if err := x.locals(); err != nil {
			return err
		}
		turn := s.Turn
		if err := x.documents(); err != nil {
			return err
		}
		if err := x.purged(); err != nil {
			return err
		}
		done, err := x.config(turn)
		if err != nil {
			return err
		}
		if done {
			return x.w.write(recordEnd, tuple.AppendInt(nil, x.w.records))
		}
	}
}

// exporter writes one export.
type exporter struct {
	s       *rev.Stream
	w       recordWriter
	began   Header
	last    db.Seq // documents are written up to here
	queue   alldocs.RowQueue[exportPending]
	payload []byte
}

// begin writes the beginning of a new export.
func (x *exporter) begin() error {
	h := Header{name: x.s.D.Name(), exportOf: exportOf{uuid: x.s.Cfg.Uuid, incarnation: x.s.Cfg.Incarnation}}
	err := x.s.Try(func() (err error) {
		if h.version, err = x.s.R.ReadVersion().Wait(); err != nil {
			return err
		}
		n, err := db.CountersOf(x.s.R, x.s.Keys, db.CounterPurges)
		if err == nil {
			h.purges = n[0]
		}
		return err
	})
	if err != nil {
		return err
	}
	x.began = h
	if err := x.w.begin(); err != nil {
		return err
	}
	return x.w.write(RecordHeader, h.append(nil))
}

// proceed continues an interrupted export.
func (x *exporter) proceed(from *Position) error {
	if from.of.uuid != x.s.Cfg.Uuid || from.of.incarnation != x.s.Cfg.Incarnation {
		return fault.Errf(fault.Conflict, "export_of_another",
			"the interrupted export is not of this database; begin a new one")
	}
	x.w.digest, x.w.records = from.Digest, from.Records
	x.began.exportOf, x.last = from.of, from.Seq
	return feed.CheckSince(x.s, x.last)
}

// exportPending is a document whose branches and winning body are being read.
type exportPending struct {
	seq   db.Seq
	ahead rev.Ahead
}

// documents writes the documents that changed after x.last, in the order of the feed.
func (x *exporter) documents() error {
	f := &feed.Feed{S: x.s, O: feed.ChangesOptions{Since: x.last, Limit: -1}, Since: x.last, Last: x.last}
	x.queue = alldocs.RowQueue[exportPending]{Size: alldocs.BodyWindow, Emit: func(p *exportPending) (bool, error) {
		return true, x.document(p)
	}}
	var failed error
	f.Yield = func(c feed.Change, err error) bool {
		_, failed = x.queue.Push(exportPending{c.Seq, x.s.ReadAhead(c.ID, c.Rev, true, true)})
		return failed == nil
	}
	if err := f.Run(); err != nil {
		return err
	}
	if failed == nil {
		_, failed = x.queue.Drain()
	}
	x.last = f.Last
	return failed
}

// document writes the current state of a document. After it, the file contains everything up to p.seq. If the winner's
// sequence is later, the document will come again.
func (x *exporter) document(p *exportPending) error {
	id := p.ahead.Id
	winning, found, err := x.s.WaitBody(&p.ahead)
	if err != nil {
		return err
	}
	tree, err := x.s.WaitTree(&p.ahead)
	if err != nil {
		return err
	}
	h := Document{id: id, seq: p.seq, leaves: int64(len(tree.Leaves))}
	if h.leaves > 0 {
		h.winner = tree.Leaves[h.leaves-1].Seq
	}
	if err := x.w.write(RecordDocument, h.append(nil)); err != nil {
		return err
	}
	o := exporting{x: x, id: id}
	for i := range tree.Leaves {
		l := &tree.Leaves[i]
		body, there := winning, found
		if l.Rev != p.ahead.Rev {
			if body, there, err = x.body(id, l.Rev); err != nil {
				return err
			}
		}
		if !there {
			return x.changed("document", write.ErrNoBody)
		}
		if gone, err := o.leaf(l, &body); err != nil || gone {
			return err
		}
	}
	return o.flush()
}

// changed handles a missing part of a document. In a snapshot it is an error; otherwise the document was changed or
// purged after its branches were read, and comes again.
func (x *exporter) changed(what string, err error) error {
	if x.s.Exact() {
		return db.Corrupt(what, err)
	}
	return nil
}

func (x *exporter) body(id string, r db.Rev) (body rev.StoredBody, found bool, err error) {
	err = x.s.Try(func() (err error) {
		read := rev.ReadBody(x.s.R, x.s.Keys, id, r)
		body, found, err = read.Wait()
		return err
	})
	return body, found, err
}

// exporting is a document being written. Its leaves are collected into records of suitable size.
type exporting struct {
	x       *exporter
	id      string
	written map[[16]byte]bool // attachments, which leaves may share
	pending int               // number of leaves in x.payload
}

// leaf writes one leaf, with its attachments first. gone reports that attachment data no longer exists.
func (o *exporting) leaf(l *rev.LeafKV, body *rev.StoredBody) (gone bool, err error) {
	for i := range body.Attachments {
		a := &body.Attachments[i]
		if o.written[a.ID] {
			continue
		}
		if o.written == nil {
			o.written = map[[16]byte]bool{}
		}
		o.written[a.ID] = true
		if err := o.flush(); err != nil {
			return false, err
		}
		if gone, err := o.x.attachment(o.id, a); err != nil || gone {
			return gone, err
		}
	}
	x := o.x
	if o.pending > 0 && len(x.payload)+len(l.Ancestors)+body.Size > recordSize {
		if err := o.flush(); err != nil {
			return false, err
		}
	}
	if o.pending == 0 {
		x.payload = x.payload[:0]
	}
	x.payload = tuple.AppendBool(x.payload, l.Deleted)
	x.payload = db.AppendRev(x.payload, l.Rev)
	x.payload = rev.AppendHistory(x.payload, l.Ancestors)
	x.payload = tuple.AppendBytes(x.payload, rev.AppendBody(nil, body.Deleted, body.Attachments, body.Body))
	o.pending++
	return false, nil
}

func (o *exporting) flush() error {
	if o.pending == 0 {
		return nil
	}
	o.pending = 0
	return o.x.w.write(recordBranches, o.x.payload)
}

// attachment writes an attachment's chunks. gone reports that some of them no longer exist.
func (x *exporter) attachment(id string, a *rev.Attachment) (gone bool, err error) {
	if a.EncodedLength == 0 {
		return false, nil
	}
	prefix := x.s.Keys.Attachment(nil, id, a.ID)
	var n int64
	err = x.s.Scan(db.PrefixRange(prefix), kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
		chunk, _, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return false, db.Corrupt("attachment", err)
		}
		x.payload = tuple.AppendUUID(x.payload[:0], a.ID)
		x.payload = append(tuple.AppendInt(x.payload, chunk), row.Value...)
		n += int64(len(row.Value))
		return n < a.EncodedLength, x.w.write(recordChunk, x.payload) // keys after the last chunk may be damaged
	})
	if err == nil && n != a.EncodedLength {
		return true, x.changed("attachment", write.ErrNoData)
	}
	return false, err
}

// purged writes the documents again that were purged since the export began, or marks them as gone, because they are
// not in the feed.
func (x *exporter) purged() error {
	prefix := x.s.Keys.Sub(nil, keyspace.Purges)
	r := db.PrefixRange(prefix)
	r.Begin = tuple.AppendVersionstamp(append([]byte(nil), prefix...), stampAfter(x.began.version))
	err := x.s.Scan(r, kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
		id, _, err := tuple.TakeString(row.Value)
		if err != nil {
			return false, db.Corrupt("purge history", err)
		}
		again := exportPending{x.last, x.s.ReadAhead(id, db.Rev{}, true, true)}
		return true, x.document(&again)
	})
	if err != nil {
		return err
	}
	// Compaction drops the oldest purges.
	var n []int64
	err = x.s.Try(func() (err error) {
		n, err = db.CountersOf(x.s.R, x.s.Keys, db.CounterPurgesDropped)
		return err
	})
	if err == nil && n[0] > x.began.purges {
		err = fault.Errf(fault.Conflict, "export_too_old", "too many documents have been purged since the export "+
			"began, so that it cannot be continued; begin a new one")
	}
	return err
}

// stampAfter returns a versionstamp after those of all commits up to version.
func stampAfter(version int64) (v tuple.Versionstamp) {
	for i := range 8 {
		v.Transaction[i] = byte((version + 1) >> (56 - 8*i))
	}
	return v
}

// locals writes the _local documents, which replace those that the file has so far.
func (x *exporter) locals() error {
	if err := x.w.write(recordLocals, nil); err != nil {
		return err
	}
	o := alldocs.AllDocsOptions{Limit: -1, Only: db.LocalOnly, IncludeDocs: true}
	var failed error
	a := &alldocs.AllDocs{S: x.s, O: o, Yield: func(row alldocs.AllDocsRow, err error) bool {
		n := int64(0)
		if n, failed = write.NextLocal(&rev.Edit{Rev: row.Rev}); failed == nil {
			x.payload = tuple.AppendInt(tuple.AppendString(x.payload[:0], row.ID), n-1)
			failed = x.w.write(RecordLocal, append(x.payload, row.Doc.Body...))
		}
		return failed == nil
	}}
	if err := a.Run(); err != nil {
		return err
	}
	return failed
}

// config writes the purge history, which replaces the one that the file has so far. Then, if everything was read in the
// transaction in which the last documents were read, it writes the settings; otherwise done is false.
func (x *exporter) config(turn int) (done bool, err error) {
	if err := x.w.write(recordPurges, nil); err != nil {
		return false, err
	}
	err = x.s.Scan(db.PrefixRange(x.s.Keys.Sub(nil, keyspace.Purges)), kv.RangeOptions{},
		func(row kv.KeyValue) (bool, error) {
			return true, x.w.write(RecordPurge, row.Value)
		})
	if err != nil {
		return false, err
	}
	var c Config
	err = x.s.Try(func() error {
		newest := db.ReadLastSeq(x.s.R, x.s.Keys, x.s.Cfg)
		purges, err := db.CountersOf(x.s.R, x.s.Keys, db.CounterPurges)
		if err != nil {
			return err
		}
		last, err := newest()
		c = Config{last: last, revsLimit: x.s.Cfg.RevsLimit, purgesLimit: x.s.Cfg.PurgesLimit,
			partitioned: x.s.Cfg.Partitioned,
			security:    x.s.Cfg.Security, purges: purges[0], maps: x.s.Cfg.Maps}
		return err
	})
	if err != nil {
		return false, err
	}
	if !x.s.Exact() && turn != x.s.Turn {
		return false, nil // the next round is shorter
	}
	return true, x.w.write(RecordConfig, c.append(nil))
}

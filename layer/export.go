package layer

import (
	"context"
	"io"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Export writes the database to w, to be read by Import (C8): every document with all leaves and their histories, deleted ones and attachments
// included, _local documents, security, settings, maps of shards and sequences. What compaction would remove, indexes and unfinished
// uploads are left out.
//
// It is one exact snapshot where the engine holds one; otherwise it is stitched from transactions and what the file ends with is the state at
// its end. Where writing to w fails, the export can be continued: from says where (ReadExport finds it), nil begins a new one. A
// continued export is the state at its end too.
//
// Memory is bounded by the largest document.
func (d *Database) Export(ctx context.Context, w io.Writer, from *ExportPosition) error {
	s, err := d.openStream(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	x := &exporter{s: s, w: recordWriter{w: w}}
	if err := x.w.begin(from); err != nil {
		return err
	}
	if from != nil {
		x.last, x.version = from.Seq, from.Version
		if err := s.checkSince(x.last); err != nil {
			return err
		}
	} else if err := x.header(); err != nil {
		return err
	}
	// Stitched from transactions, a later part may see what an earlier one could not: go on until the documents were up to date in one
	// transaction with the end. _local documents come before: a replication's checkpoint must not be newer than what it stands for.
	for {
		if err := x.locals(); err != nil {
			return err
		}
		turn := s.turn
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
	s       *stream
	w       recordWriter
	version int64 // at which the export began
	last    Seq   // documents are written up to here
	payload []byte
}

func (x *exporter) header() error {
	err := x.s.try(func() (err error) {
		x.version, err = x.s.r.ReadVersion().Wait()
		return err
	})
	if err != nil {
		return err
	}
	h := exportHeader{name: x.s.d.name, uuid: x.s.cfg.uuid, incarnation: x.s.cfg.incarnation, version: x.version}
	return x.w.write(recordHeader, h.append(nil))
}

// documents writes the documents that changed after x.last, in the order of the feed.
func (x *exporter) documents() error {
	f := &feed{s: x.s, o: ChangesOptions{Since: x.last, Limit: -1}, since: x.last, last: x.last}
	var failed error
	f.yield = func(c Change, err error) bool {
		failed = x.document(c.ID, c.Seq)
		return failed == nil
	}
	if err := f.run(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	x.last = f.last
	return nil
}

// document writes a document as it is now; with it, everything up to seq is in the file. Its winner's sequence may be after seq: then the
// document comes again.
func (x *exporter) document(id string, seq Seq) error {
	var tree documentTree
	var bodies []storedBody
	err := x.s.try(func() (err error) {
		if tree, err = waitTree(readTree(x.s.r, x.s.keys, id), x.s.keys, id); err != nil {
			return err
		}
		bodies, err = x.leafBodies(id, &tree)
		return err
	})
	if err != nil {
		return err
	}
	if err := x.w.write(recordDocument, seq.appendTuple(tuple.AppendString(nil, id))); err != nil {
		return err
	}
	done := map[[16]byte]bool{}
	for i := range bodies {
		for _, a := range bodies[i].attachments {
			if done[a.ID] {
				continue
			}
			done[a.ID] = true
			gone, err := x.attachment(id, &a)
			if gone && err == nil && x.s.exact() {
				err = corrupt("attachment", errNoData)
			}
			if err != nil || gone {
				return err // gone: the document has changed, or was purged, and comes again
			}
		}
	}
	var winner Seq
	if n := len(tree.leaves); n > 0 {
		winner = tree.leaves[n-1].seq
	}
	return x.branches(id, winner, &tree, bodies)
}

func (x *exporter) leafBodies(id string, tree *documentTree) ([]storedBody, error) {
	reads := make([]bodyRead, len(tree.leaves))
	for i := range tree.leaves {
		reads[i] = readBody(x.s.r, x.s.keys, id, tree.leaves[i].rev)
	}
	bodies := make([]storedBody, len(reads))
	for i := range reads {
		var found bool
		var err error
		if bodies[i], found, err = reads[i].wait(); err != nil {
			return nil, err
		}
		if !found {
			return nil, corrupt("document", errNoBody)
		}
	}
	return bodies, nil
}

// branches writes the leaves, in several records where they are large.
func (x *exporter) branches(id string, seq Seq, tree *documentTree, bodies []storedBody) error {
	head := seq.appendTuple(tuple.AppendString(nil, id))
	x.payload = append(x.payload[:0], head...)
	for i := range tree.leaves {
		l := &tree.leaves[i]
		if len(x.payload) > len(head) && len(x.payload)+len(bodies[i].body) > maxRecord/4 {
			if err := x.w.write(recordBranches, x.payload); err != nil {
				return err
			}
			x.payload = append(x.payload[:0], head...)
		}
		x.payload = tuple.AppendBool(x.payload, l.deleted)
		x.payload = appendRev(x.payload, l.rev)
		x.payload = appendHistory(x.payload, l.ancestors)
		x.payload = tuple.AppendBytes(x.payload, appendBody(nil, bodies[i].deleted, bodies[i].attachments, bodies[i].body))
	}
	return x.w.write(recordBranches, x.payload)
}

// attachment writes an attachment's chunks; gone where they are not all there any more.
func (x *exporter) attachment(id string, a *Attachment) (gone bool, err error) {
	prefix := x.s.keys.attachment(nil, id, a.ID)
	var n int64
	err = x.s.scan(prefixRange(prefix), kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
		chunk, _, err := tuple.TakeInt(row.Key[len(prefix):])
		if err != nil {
			return false, corrupt("attachment", err)
		}
		x.payload = tuple.AppendUUID(tuple.AppendString(x.payload[:0], id), a.ID)
		x.payload = append(tuple.AppendInt(x.payload, chunk), row.Value...)
		n += int64(len(row.Value))
		return true, x.w.write(recordChunk, x.payload)
	})
	return n != a.EncodedLength, err
}

// purged writes once more, or as gone, the documents that were purged since the export began: the feed does not tell of them.
func (x *exporter) purged() error {
	prefix := x.s.keys.sub(nil, keyspace.Purges)
	r := prefixRange(prefix)
	r.Begin = tuple.AppendVersionstamp(append([]byte(nil), prefix...), stampAfter(x.version))
	ids := map[string]bool{}
	err := x.s.scan(r, kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) {
		id, _, err := tuple.TakeString(row.Value)
		if err != nil {
			return false, corrupt("purge history", err)
		}
		ids[id] = true
		return true, nil
	})
	if err != nil {
		return err
	}
	for id := range ids {
		if err := x.document(id, x.last); err != nil {
			return err
		}
	}
	return nil
}

// stampAfter sorts after every versionstamp of a commit at or before version.
func stampAfter(version int64) (v tuple.Versionstamp) {
	for i := range 8 {
		v.Transaction[i] = byte((version + 1) >> (56 - 8*i))
	}
	return v
}

// locals writes the _local documents, in place of those that the file has so far.
func (x *exporter) locals() error {
	if err := x.w.write(recordLocals, nil); err != nil {
		return err
	}
	o := AllDocsOptions{Limit: -1, Only: LocalOnly, IncludeDocs: true}
	var failed error
	a := &allDocs{s: x.s, o: o, yield: func(row AllDocsRow, err error) bool {
		n := int64(0)
		if n, failed = nextLocal(&Edit{Rev: row.Rev}); failed == nil {
			x.payload = tuple.AppendInt(tuple.AppendString(x.payload[:0], row.ID), n-1)
			failed = x.w.write(recordLocal, append(x.payload, row.Doc.Body...))
		}
		return failed == nil
	}}
	if err := a.run(); err != nil {
		return err
	}
	return failed
}

// config writes the settings if they are read in the transaction that the documents were read in, to the last; else done is false.
func (x *exporter) config(turn int) (done bool, err error) {
	var c exportConfig
	err = x.s.try(func() error {
		_, at, err := x.s.countEntries()
		c = exportConfig{last: at.newest, revsLimit: x.s.cfg.revsLimit, partitioned: x.s.cfg.partitioned, security: x.s.cfg.security,
			purges: at.purges, maps: x.s.cfg.maps}
		return err
	})
	if err != nil {
		return false, err
	}
	if !x.s.exact() && turn != x.s.turn {
		return false, nil // the next round is shorter
	}
	return true, x.w.write(recordConfig, c.append(nil))
}

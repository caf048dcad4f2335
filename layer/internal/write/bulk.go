package write

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

const (
	// bulkEdits and bulkBytes limit one transaction of a Bulk: FoundationDB recommends transactions below a megabyte.
	bulkEdits = 500
	bulkBytes = 1_000_000
)

// Bulk writes many documents in order, in as few transactions as the limits allow. Each edit succeeds or fails on its
// own (EditResult.Err). An error of Bulk itself means that the remaining edits were not written. If one of the ids is
// not valid in a partitioned database, Bulk returns Invalid and writes nothing. Results are in the order of edits.
// Several edits of one document are written in their order: in one transaction if possible (family), otherwise in a
// transaction each. Uploads of edits that are not written are removed.
func (d Database) Bulk(ctx context.Context, edits []rev.Edit, o rev.WriteOptions) ([]rev.EditResult, error) {
	results, err := bulk(ctx, d.Database, edits, o)
	written, refused := 0, 0
	for i := range results {
		switch {
		case results[i].Err != nil:
			refused++
		case !results[i].Rev.IsZero(): // zero if the batch before has failed
			written++
		}
	}
	d.CountWrites(written, refused)
	var left []*rev.Edit
	for i := range edits {
		if len(edits[i].Attachments) > 0 && (err != nil || results[i].Err != nil) {
			left = append(left, &edits[i])
		}
	}
	if len(left) > 0 {
		attach.Of(d.Database).Discard(ctx, left...)
	}
	return results, err
}

func bulk(ctx context.Context, d *db.Database, edits []rev.Edit, o rev.WriteOptions) ([]rev.EditResult, error) {
	for i := range edits {
		if err := d.CheckID(ctx, edits[i].ID); err != nil {
			return nil, err
		}
	}
	results := make([]rev.EditResult, len(edits))
	ps := make([]pendingEdit, 0, min(len(edits), bulkEdits))
	for i := range edits {
		results[i].ID = edits[i].ID
	}
	if o.Atomic {
		return results, bulkAtomic(ctx, d, edits, results, o)
	}
	w := batchWriter{d: d, o: o, portions: db.NewPortions(bulkEdits)}
	for batch := range batches(d, edits, o) {
		ps = ps[:0]
		for _, i := range batch {
			if results[i].Err = attach.UploadLarge(ctx, d, &edits[i]); results[i].Err == nil {
				ps = append(ps, pendingEdit{e: &edits[i]})
			}
		}
		if err := w.write(ctx, ps); err != nil {
			return results, err
		}
		report(results, batch, ps)
	}
	return results, nil
}

// batchWriter writes each batch of edits in one transaction, or in several if the batch is too much for one, together
// with what is read for it and what is written to indexes.
type batchWriter struct {
	d        *db.Database
	o        rev.WriteOptions
	portions *db.Portions
	stuck    int // consecutive edits that the store could not write
}

// maxStuck is how many consecutive edits may fail in this way before the rest is abandoned.
const maxStuck = 2

func (w *batchWriter) write(ctx context.Context, ps []pendingEdit) error {
	for len(ps) > 0 {
		var written func(kv.Committed)
		n, c, err := db.WritePart(ctx, w.d, w.portions, len(ps), func(t *db.Txn, n int) (done int, err error) {
			if written = nil; isFamily(w.d, ps[:n], w.o) {
				done, written, err = writeFamily(t, ps[:n], w.o)
			} else {
				done, err = writeEdits(t, ps[:n], w.o)
			}
			return done, err
		})
		if db.TooMuch(err) {
			if ps[0].err, err = w.refused(ps[0].e.ID, err); err != nil {
				return err
			}
			ps = ps[1:]
			continue
		}
		if err != nil {
			return err
		}
		if w.stuck = 0; written != nil {
			written(c)
		}
		ps = ps[n:]
	}
	return nil
}

// refused returns the error of an edit that is too much for a transaction by itself. After maxStuck such edits in a row
// it returns the error as all, for every edit that follows.
func (w *batchWriter) refused(id string, err error) (own, all error) {
	if fault.KindOf(err) == fault.TooLarge {
		return errEditTooLarge(id), nil
	}
	if w.stuck++; w.stuck >= maxStuck {
		return nil, err
	}
	return err, nil
}

// report copies the outcome of the edits of a batch that were tried.
func report(results []rev.EditResult, batch []int, ps []pendingEdit) {
	next := 0
	for _, i := range batch {
		if results[i].Err != nil {
			continue
		}
		p := &ps[next]
		next++
		if results[i].Err = p.err; p.err == nil {
			results[i].Rev = p.rev()
		}
	}
}

// batches divides edits, given by their indexes, into transactions. No transaction exceeds a limit, and each has edits
// of different documents or of one document. Edits of one document stay in order; if they can be written together, they
// take the place of the first of them.
func batches(d *db.Database, edits []rev.Edit, o rev.WriteOptions) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order, families := familiesTogether(d, edits, o)
		for len(order) > 0 {
			n := nextBatch(edits, order, families)
			if !yield(order[:n]) {
				return
			}
			order = order[n:]
		}
	}
}

// familiesTogether returns the order in which edits are written, and the ids of the documents with several edits that
// can be written together.
func familiesTogether(d *db.Database, edits []rev.Edit, o rev.WriteOptions) (order []int, families map[string]bool) {
	order = make([]int, len(edits))
	of := make(map[string][]int, len(edits))
	together := true
	for i := range edits {
		order[i] = i
		of[edits[i].ID] = append(of[edits[i].ID], i)
		together = together && !db.IsDesign(edits[i].ID) // edits after a design document may depend on it
	}
	if !together {
		return order, nil
	}
	families = map[string]bool{}
	grouped := make([]int, 0, len(edits))
	for i := range edits {
		places := of[edits[i].ID]
		if places[0] != i && families[edits[i].ID] {
			continue
		}
		one := func(i int) bool { return inFamily(&edits[i], o) }
		if places[0] == i && (len(places) > 1 || knowsTree(d, edits[i].ID, o)) &&
			!slices.ContainsFunc(places, func(i int) bool { return !one(i) }) {
			families[edits[i].ID] = true
			grouped = append(grouped, places...)
			continue
		}
		grouped = append(grouped, i)
	}
	return grouped, families
}

// nextBatch returns how many edits go into the next transaction.
func nextBatch(edits []rev.Edit, order []int, families map[string]bool) int {
	first := edits[order[0]].ID
	seen := make(map[string]struct{}, min(len(order), bulkEdits))
	size := 0
	for n, i := range order {
		e := &edits[i]
		size += editSize(e)
		_, twice := seen[e.ID]
		if families[first] {
			twice = e.ID != first
		} else if families[e.ID] && n > 0 {
			twice = true
		}
		if n > 0 && (n >= bulkEdits || size > bulkBytes || twice) {
			return n
		}
		seen[e.ID] = struct{}{}
	}
	return len(order)
}

// editSize estimates how many bytes an edit adds to a transaction.
func editSize(e *rev.Edit) int {
	n := 600 + 8*len(e.ID) + len(e.Body)
	data := 0
	for i := range e.Attachments {
		data += len(e.Attachments[i].Data)
	}
	if data > attach.InlineLimit {
		data = 0 // already uploaded
	}
	return n + data + 20*len(e.Ancestors)
}

// ErrNotWritten is the result of an edit that could have been written, in an atomic write of which another edit could
// not.
var ErrNotWritten = fault.Errf(fault.Conflict, "not_written", "another document of the same atomic write failed")

// bulkAtomic writes all edits or none.
func bulkAtomic(ctx context.Context, d *db.Database, edits []rev.Edit, results []rev.EditResult,
	o rev.WriteOptions) error {
	ps := make([]pendingEdit, len(edits))
	seen := make(map[string]bool, len(edits))
	for i := range edits {
		if seen[edits[i].ID] {
			return fault.Errf(fault.Invalid, "bad_request", "document %s appears twice in an atomic write", edits[i].ID)
		}
		seen[edits[i].ID] = true
		if err := attach.UploadLarge(ctx, d, &edits[i]); err != nil {
			return err
		}
		ps[i].e = &edits[i]
	}
	_, _, err := db.Transact(ctx, d, func(t *db.Txn) (int, error) { return writeEdits(t, ps, o) })
	if err != nil && !errors.Is(err, errAborted) {
		return err
	}
	aborted := err != nil
	all := make([]int, len(edits))
	for i := range all {
		all[i] = i
	}
	report(results, all, ps)
	for i := range results {
		if aborted && results[i].Err == nil {
			results[i] = rev.EditResult{ID: results[i].ID, Err: ErrNotWritten}
		}
	}
	return nil
}

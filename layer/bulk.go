package layer

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/divandb/divan/layer/kv"
)

const (
	// bulkEdits and bulkBytes bound one transaction of a Bulk: FoundationDB likes transactions below a megabyte.
	bulkEdits = 500
	bulkBytes = 1_000_000
)

// Bulk writes many documents in as few transactions as limits allow, in order; each edit succeeds or fails alone (Err), and an error of Bulk itself
// means that the rest was not written. Invalid, and nothing
// is written, where a partitioned database cannot have one of the ids. Results are in the order of edits. Several edits
// of one document are written in their order: together where that is possible (family), otherwise in transactions of
// their own. The uploads of edits that are not written are removed.
func (d *Database) Bulk(ctx context.Context, edits []Edit, o WriteOptions) ([]EditResult, error) {
	results, err := d.bulk(ctx, edits, o)
	var left []*Edit
	for i := range edits {
		if len(edits[i].Attachments) > 0 && (err != nil || results[i].Err != nil) {
			left = append(left, &edits[i])
		}
	}
	if len(left) > 0 {
		d.Discard(ctx, left...)
	}
	return results, err
}

func (d *Database) bulk(ctx context.Context, edits []Edit, o WriteOptions) ([]EditResult, error) {
	for i := range edits {
		if err := d.CheckID(ctx, edits[i].ID); err != nil {
			return nil, err
		}
	}
	results := make([]EditResult, len(edits))
	ps := make([]pendingEdit, 0, min(len(edits), bulkEdits))
	for i := range edits {
		results[i].ID = edits[i].ID
	}
	if o.Atomic {
		return results, d.bulkAtomic(ctx, edits, results, o)
	}
	w := batchWriter{d: d, o: o, portions: newPortions(bulkEdits)}
	for batch := range d.batches(edits, o) {
		ps = ps[:0]
		for _, i := range batch {
			if results[i].Err = d.uploadLarge(ctx, &edits[i]); results[i].Err == nil {
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

// batchWriter writes batches of edits: each in one transaction, or in several where it is too much for one with what is
// read for it and what indexes get.
type batchWriter struct {
	d        *Database
	o        WriteOptions
	portions *portions
	stuck    int // edits in a row that the store did not get through with
}

// maxStuck is how many such edits may come one after the other before the rest is left.
const maxStuck = 2

func (w *batchWriter) write(ctx context.Context, ps []pendingEdit) error {
	for len(ps) > 0 {
		var written func(kv.Committed)
		n, c, err := writePart(ctx, w.d, w.portions, len(ps), func(t *txn, n int) (done int, err error) {
			if written = nil; w.d.isFamily(ps[:n], w.o) {
				done, written, err = t.writeFamily(ps[:n], w.o)
			} else {
				done, err = t.writeEdits(ps[:n], w.o)
			}
			return done, err
		})
		if tooMuch(err) {
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
	if KindOf(err) == TooLarge {
		return errEditTooLarge(id), nil
	}
	if w.stuck++; w.stuck >= maxStuck {
		return nil, err
	}
	return err, nil
}

// report copies what became of the edits that were tried, of those in a batch.
func report(results []EditResult, batch []int, ps []pendingEdit) {
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

// batches divides edits, by their places, into transactions: none passes a limit, and each has edits of different
// documents, or of one alone. Edits of one document stay in order; those that may be written together come where the
// first of them is.
func (d *Database) batches(edits []Edit, o WriteOptions) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order, families := d.familiesTogether(edits, o)
		for len(order) > 0 {
			n := nextBatch(edits, order, families)
			if !yield(order[:n]) {
				return
			}
			order = order[n:]
		}
	}
}

// familiesTogether returns the order in which edits are written, and the ids of the documents that have several edits
// which may be written together.
func (d *Database) familiesTogether(edits []Edit, o WriteOptions) (order []int, families map[string]bool) {
	order = make([]int, len(edits))
	of := make(map[string][]int, len(edits))
	together := true
	for i := range edits {
		order[i] = i
		of[edits[i].ID] = append(of[edits[i].ID], i)
		together = together && !isDesign(edits[i].ID) // which what follows it may depend on
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
		if places[0] == i && (len(places) > 1 || d.knowsTree(edits[i].ID, o)) &&
			!slices.ContainsFunc(places, func(i int) bool { return !one(i) }) {
			families[edits[i].ID] = true
			grouped = append(grouped, places...)
			continue
		}
		grouped = append(grouped, i)
	}
	return grouped, families
}

// nextBatch is how many of the edits in order go into the next transaction.
func nextBatch(edits []Edit, order []int, families map[string]bool) int {
	first := edits[order[0]].ID
	seen := make(map[string]struct{}, min(len(order), bulkEdits))
	size := 0
	for n, i := range order {
		e := &edits[i]
		size += e.size()
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

// size is what an edit adds to a transaction, roughly.
func (e *Edit) size() int {
	n := 600 + 8*len(e.ID) + len(e.Body)
	data := 0
	for i := range e.Attachments {
		data += len(e.Attachments[i].Data)
	}
	if data > inlineLimit {
		data = 0 // uploaded before
	}
	return n + data + 20*len(e.Ancestors)
}

// bulkAtomic writes all edits or none.
func (d *Database) bulkAtomic(ctx context.Context, edits []Edit, results []EditResult, o WriteOptions) error {
	ps := make([]pendingEdit, len(edits))
	seen := make(map[string]bool, len(edits))
	for i := range edits {
		if seen[edits[i].ID] {
			return errf(Invalid, "bad_request", "document %s comes twice in an atomic write", edits[i].ID)
		}
		seen[edits[i].ID] = true
		if err := d.uploadLarge(ctx, &edits[i]); err != nil {
			return err
		}
		ps[i].e = &edits[i]
	}
	_, _, err := transact(ctx, d, func(t *txn) (int, error) { return t.writeEdits(ps, o) })
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
			results[i] = EditResult{ID: results[i].ID, Err: errf(Conflict, "not_written", "another document of the same atomic write failed")}
		}
	}
	return nil
}

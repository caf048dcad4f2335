package layer

import (
	"context"
	"errors"
)

const (
	// bulkEdits and bulkBytes bound one transaction of a Bulk: FoundationDB likes transactions below a megabyte.
	bulkEdits = 500
	bulkBytes = 1_000_000
)

// Bulk writes many documents in as few transactions as limits allow, in order; each edit succeeds or fails alone (Err), and an error of Bulk itself
// means that the rest was not written. Invalid, and nothing
// is written, where a partitioned database cannot have one of the ids. Results are in the order of edits. The same id twice is written in two transactions.
// The uploads of edits that are not written are removed.
func (d *Database) Bulk(ctx context.Context, edits []Edit, o WriteOptions) ([]EditResult, error) {
	results, err := d.bulk(ctx, edits, o)
	for i := range edits {
		if len(edits[i].Attachments) > 0 && (err != nil || results[i].Err != nil) {
			d.Discard(ctx, &edits[i])
		}
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
	for from := 0; from < len(edits); {
		to := nextBatch(edits, from)
		batch := edits[from:to]
		ps = ps[:0]
		for i := range batch {
			r := &results[from+i]
			if r.Err = d.uploadLarge(ctx, &batch[i]); r.Err != nil {
				continue
			}
			ps = append(ps, pendingEdit{e: &batch[i]})
		}
		if err := d.writeBatch(ctx, ps, o); err != nil {
			return results, err
		}
		report(results[from:to], ps)
		from = to
	}
	return results, nil
}

// writeBatch writes edits in one transaction, or, where they are too much for one with what indexes get, in several.
func (d *Database) writeBatch(ctx context.Context, ps []pendingEdit, o WriteOptions) error {
	_, _, err := transact(ctx, d, func(t *txn) (struct{}, error) {
		return struct{}{}, t.writeEdits(ps, o)
	})
	switch n := len(ps); {
	case err == nil || !errors.Is(err, errDivide) && !tooLarge(err):
		return err
	case n == 1:
		ps[0].err = errIndexedTooLarge(ps[0].e.ID)
		return nil
	default:
		if err := d.writeBatch(ctx, ps[:n/2], o); err != nil {
			return err
		}
		return d.writeBatch(ctx, ps[n/2:], o)
	}
}

// report copies what became of the edits that were tried.
func report(results []EditResult, ps []pendingEdit) {
	next := 0
	for i := range results {
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

// nextBatch is the end of the transaction that begins with edit from: before a limit is passed or a document comes up again.
func nextBatch(edits []Edit, from int) int {
	seen := make(map[string]struct{}, min(len(edits)-from, bulkEdits))
	size := 0
	for i := from; i < len(edits); i++ {
		e := &edits[i]
		n := e.size()
		_, twice := seen[e.ID]
		if i > from && (i-from >= bulkEdits || size+n > bulkBytes || twice) {
			return i
		}
		seen[e.ID] = struct{}{}
		size += n
	}
	return len(edits)
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
	_, _, err := transact(ctx, d, func(t *txn) (struct{}, error) {
		return struct{}{}, t.writeEdits(ps, o)
	})
	if err != nil && !errors.Is(err, errAborted) {
		return err
	}
	aborted := err != nil
	report(results, ps)
	for i := range results {
		if aborted && results[i].Err == nil {
			results[i] = EditResult{ID: results[i].ID, Err: errf(Conflict, "not_written", "another document of the same atomic write failed")}
		}
	}
	return nil
}

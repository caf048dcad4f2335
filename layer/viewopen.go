package layer

import (
	"context"
	"sync"
)

// read begins a query, whose rows go with the documents where docs is set, and which otherwise reads documents as they
// are now.
func (ix *Index) read(ctx context.Context, q *ViewQuery, docs bool) (*indexReading, error) {
	if q.Ahead && ix.design.slow() {
		return nil, errBehind()
	}
	if q.Ahead {
		return ix.readInTransactions(ctx, q)
	}
	s, err := ix.db.openStream(ctx)
	if err != nil {
		return nil, err
	}
	if !s.exact() {
		r, err := ix.readOverlaid(s, q, docs)
		if err != nil {
			s.close()
		}
		return r, err
	}
	r := &indexReading{keys: ix.keys(s.keys), rows: s, docs: s, close: s.close}
	at, err := ix.readAt(s, &r.keys, q.Current)
	if err != nil {
		s.close()
		return nil, err
	}
	r.seq, r.empty = at.seq, at.seq.IsZero()
	if at.interactive {
		return r, nil
	}
	all := publishedOf(ix.db.store)
	held := all.take(publication{s.core.number, ix.design.Signature}, at.seq)
	if docs && q.Fresh && !r.empty && (held == nil || held.docs == nil) {
		newer, err := s.newerThan(at.seq)
		if err != nil || newer {
			if held != nil {
				all.done(held)
			}
			s.close()
		}
		if err != nil {
			return nil, err
		}
		if newer {
			return ix.readInTransactions(ctx, q)
		}
	}
	r.decided = !at.building || at.kept || held != nil && held.rows != nil
	if at.kept && (held == nil || held.rows == nil) { // whoever builds
		r.rows = s.at(s.snap)
		r.rows.layOver(&r.keys)
	}
	if held == nil {
		return r, nil
	}
	if docs && held.docs != nil {
		r.docs = s.at(held.docs)
	}
	if held.rows != nil {
		r.rows = s.at(held.rows)
		err = r.keys.find(held.rows)() // it is of another version than what was read of the index
	}
	end := sync.OnceFunc(func() {
		all.done(held)
		s.close()
	})
	stop := context.AfterFunc(ctx, end)
	r.close = func() {
		stop()
		end()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// readInTransactions is read where the documents of the index's sequence are not held: another node has built it. Then
// the query itself brings the rows to where the documents are, as on engines without snapshots.
func (ix *Index) readInTransactions(ctx context.Context, q *ViewQuery) (*indexReading, error) {
	s, err := ix.db.openTransactions(ctx)
	if err != nil {
		return nil, err
	}
	r, err := ix.readOverlaid(s, q, true)
	if err != nil {
		s.close()
	}
	return r, err
}

package layer

import (
	"context"
	"iter"
	"time"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// NamesOptions as _all_dbs has them.
type NamesOptions struct {
	Start, End  string // inclusive; empty is open
	ExcludeEnd  bool
	Descending  bool
	Limit, Skip int // Limit < 0 is none
}

// Names streams the names of all databases in byte order from Start to End; with Descending from the higher Start down.
func (s *Store) Names(ctx context.Context, o NamesOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if o.Limit == 0 {
			return
		}
		prefix := s.section(keyspace.Databases)
		bounds := idRange(prefix, idBounds{start: textOrNil(o.Start), end: textOrNil(o.End), excludeEnd: o.ExcludeEnd, descending: o.Descending})
		skip, left := o.Skip, o.Limit
		err := scan(ctx, s.engine, bounds, o.Descending, func(row kv.KeyValue) (bool, error) {
			name, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return false, corrupt("database name", err)
			}
			if skip > 0 {
				skip--
				return true, nil
			}
			left--
			return yield(name, nil) && left != 0, nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// idBounds is a range of ids or names. With descending, start is the higher one.
type idBounds struct {
	start, end *string
	excludeEnd bool
	descending bool
}

// idRange is the keys prefix ++ (id) within the bounds.
func idRange(prefix []byte, b idBounds) kv.KeyRange {
	r := prefixRange(prefix)
	low, high := b.start, b.end
	lowOpen, highOpen := false, b.excludeEnd
	if b.descending {
		low, high = b.end, b.start
		lowOpen, highOpen = b.excludeEnd, false
	}
	at := func(id string, after bool) []byte {
		key := tuple.AppendString(append([]byte(nil), prefix...), id)
		if after {
			key = append(key, 0xff) // past the key and whatever extends it
		}
		return key
	}
	if low != nil {
		r.Begin = at(*low, lowOpen)
	}
	if high != nil {
		r.End = at(*high, !highOpen)
	}
	if string(r.Begin) > string(r.End) {
		r.Begin = r.End
	}
	return r
}

// scan reads a range across as many transactions as it takes; visit returns false to stop.
func scan(ctx context.Context, e kv.Engine, r kv.KeyRange, reverse bool, visit func(kv.KeyValue) (bool, error)) error {
	var patience kv.Patience
	for {
		tx := e.Begin(ctx)
		more, err := scanOnce(tx.Snapshot(), &r, kv.RangeOptions{Reverse: reverse}, func(row kv.KeyValue) (bool, error) {
			patience.Progress()
			return visit(row)
		})
		tx.Cancel()
		if err = patience.Tried(err); err == nil || !more || !kv.Retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// scanOnce narrows r to what is still to be read. more is false where visit ended it, with or without an error.
func scanOnce(reader kv.Reader, r *kv.KeyRange, o kv.RangeOptions, visit func(kv.KeyValue) (bool, error)) (more bool, err error) {
	rows := reader.GetRange(*r, o)
	defer rows.Close()
	var last []byte
	defer func() {
		switch {
		case last == nil:
		case o.Reverse:
			r.End = last
		default:
			r.Begin = append(last, 0)
		}
	}()
	for rows.Next() {
		row := rows.KeyValue()
		more, err := visit(row)
		if err != nil || !more {
			return false, err
		}
		last = append(last[:0], row.Key...)
	}
	return true, rows.Err()
}

// WatchNames becomes ready when a database is created or deleted (_db_updates, SQL catalogue caches).
func (s *Store) WatchNames(ctx context.Context) (kv.Watch, error) {
	w, _, err := kv.Transact(ctx, s.engine, kv.TransactOptions{}, func(tx kv.Transaction) (kv.Watch, error) {
		return tx.Watch(s.section(keyspace.Databases)), nil
	})
	return w, err
}

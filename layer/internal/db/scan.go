package db

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// IdBounds is a range of ids or names. With Descending, Start is the higher one.
type IdBounds struct {
	Start, End *string
	ExcludeEnd bool
	Descending bool
}

// IdRange returns the range of the keys prefix + (id) within the bounds.
func IdRange(prefix []byte, b IdBounds) kv.KeyRange {
	r := PrefixRange(prefix)
	low, high := b.Start, b.End
	lowOpen, highOpen := false, b.ExcludeEnd
	if b.Descending {
		low, high = b.End, b.Start
		lowOpen, highOpen = b.ExcludeEnd, false
	}
	at := func(id string, after bool) []byte {
		key := tuple.AppendString(append([]byte(nil), prefix...), id)
		if after {
			key = append(key, 0xff) // after the key and all its extensions
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

// Scan reads a range in as many transactions as it takes. visit returns false to stop.
func Scan(ctx context.Context, e kv.Engine, r kv.KeyRange, reverse bool, visit func(kv.KeyValue) (bool, error)) error {
	var patience kv.Patience
	for {
		tx := e.Begin(ctx)
		more, err := ScanOnce(tx.Snapshot(), &r, kv.RangeOptions{Reverse: reverse},
			func(row kv.KeyValue) (bool, error) {
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

// ScanOnce reads a range once, and narrows *r to what has not been read. more is false if visit has ended the scan,
// with or without an error.
func ScanOnce(reader kv.Reader, r *kv.KeyRange, o kv.RangeOptions, visit func(kv.KeyValue) (bool, error)) (more bool,
	err error) {
	return ScanRows(reader.GetRange(*r, o), r, o.Reverse, visit)
}

// ScanRows is ScanOnce for a read of *r that has begun. It closes rows.
func ScanRows(rows kv.RangeIterator, r *kv.KeyRange, reverse bool, visit func(kv.KeyValue) (bool, error)) (more bool,
	err error) {
	defer rows.Close()
	var last []byte
	defer func() {
		switch {
		case last == nil:
		case reverse:
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

package db

import (
	"bytes"
	"context"
	"slices"

	"github.com/divandb/divan/layer/kv"
)

// Holes are key ranges that may be unreadable because parts of the store are damaged. They are sorted and disjoint.
type Holes []kv.KeyRange

// FindHoles makes the engine read all its files that have keys in a range, and returns the damaged ranges. known is
// false if the engine cannot do this.
func (s *Store) FindHoles(
	ctx context.Context, keys kv.KeyRange, progress func(read, total int64), fault func(kv.Fault) error,
) (h Holes, read kv.Verified, known bool, err error) {
	v, ok := s.Engine.(kv.Verifier)
	if !ok {
		return nil, read, false, nil
	}
	read, err = v.Verify(ctx, kv.VerifyOptions{Keys: keys, Progress: progress, Fault: func(f kv.Fault) error {
		if len(f.Keys.End) > 0 && !f.LeftOut {
			h = append(h, f.Keys)
		}
		if fault == nil {
			return nil
		}
		return fault(f)
	}})
	return h.United(), read, true, err
}

// United sorts the ranges and merges those that overlap or touch.
func (h Holes) United() Holes {
	slices.SortFunc(h, func(a, b kv.KeyRange) int { return bytes.Compare(a.Begin, b.Begin) })
	united := h[:0]
	for _, r := range h {
		if n := len(united); n > 0 && bytes.Compare(r.Begin, united[n-1].End) <= 0 {
			if bytes.Compare(united[n-1].End, r.End) < 0 {
				united[n-1].End = r.End
			}
			continue
		}
		united = append(united, r)
	}
	return united
}

// After returns the first hole that ends after key.
func (h Holes) After(key []byte) (kv.KeyRange, bool) {
	i, _ := slices.BinarySearchFunc(h, key, func(r kv.KeyRange, key []byte) int {
		if bytes.Compare(r.End, key) <= 0 {
			return -1
		}
		return 1
	})
	if i == len(h) {
		return kv.KeyRange{}, false
	}
	return h[i], true
}

// Scan reads a range row by row and continues after each unreadable hole. It calls lost with every range that it had to
// leave out. Keys in a hole after the first unreadable one are left out too. An error of visit or lost ends the scan.
func (h Holes) Scan(r kv.Reader, keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error {
	// pass reads keys and removes from the range what it has read. If it finds damage, it returns true and the rest,
	// and calls lost if tell is set.
	pass := func(keys kv.KeyRange, tell bool) (damaged bool, rest kv.KeyRange, err error) {
		if bytes.Compare(keys.Begin, keys.End) >= 0 {
			return false, keys, nil
		}
		_, err = ScanOnce(r, &keys, kv.RangeOptions{}, func(row kv.KeyValue) (bool, error) { return true, visit(row) })
		if !kv.IsCode(err, kv.CodeFileCorrupt) {
			return false, keys, err
		}
		if tell {
			return true, keys, lost(keys)
		}
		return true, keys, nil
	}
	for {
		damaged, rest, err := pass(keys, false)
		if err != nil || !damaged {
			return err
		}
		hole, ok := h.After(rest.Begin)
		hole, in := Intersect(hole, rest)
		if !ok || !in {
			return lost(rest)
		}
		if err := h.front(r, kv.KeyRange{Begin: rest.Begin, End: hole.Begin}, hole, visit, lost); err != nil {
			return err
		}
		if _, _, err := pass(hole, true); err != nil {
			return err
		}
		keys = kv.KeyRange{Begin: hole.End, End: rest.End}
	}
}

// front reads the rows before a hole one at a time, because a read of many rows may fail at the hole before it has
// returned them all. The last such read fails as well, if the next row would be in the damaged block; that is no loss
// before the hole.
func (h Holes) front(
	r kv.Reader, keys, hole kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error,
) error {
	one := kv.RangeOptions{Limit: 1, Mode: kv.ModeExact}
	for bytes.Compare(keys.Begin, keys.End) < 0 {
		before := keys.Begin
		_, err := ScanOnce(r, &keys, one, func(row kv.KeyValue) (bool, error) { return true, visit(row) })
		switch {
		case kv.IsCode(err, kv.CodeFileCorrupt):
			if readableStart(r, hole) {
				return lost(keys) // the damage is not in the hole
			}
			return nil
		case err != nil:
			return err
		case bytes.Equal(before, keys.Begin):
			return nil // no rows are left
		}
	}
	return nil
}

// readableStart reports whether the first row of a range can be read. It returns true if the range is empty.
func readableStart(r kv.Reader, keys kv.KeyRange) bool {
	rows := r.GetRange(keys, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer rows.Close()
	rows.Next()
	return rows.Err() == nil
}

package db

import (
	"bytes"
	"context"
	"slices"

	"github.com/divandb/divan/layer/kv"
)

// Holes are the ranges of keys that damaged pieces of the store may hold keys of: sorted and disjoint.
type Holes []kv.KeyRange

// FindHoles has the engine read all its files that have keys in a range, and reports what is damaged. known is false
// where the engine does not look into files.
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

// After is the first hole that ends after key.
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

// Scan reads a range row by row, and goes on behind each hole that cannot be read. lost is told what was left out; both
// may end the scan with an error. What is in a hole, behind the first key there that cannot be read, is left out too.
func (h Holes) Scan(r kv.Reader, keys kv.KeyRange, visit func(kv.KeyValue) error, lost func(kv.KeyRange) error) error {
	// pass reads keys, from which it takes what it has read, and tells of the rest where that is damaged.
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

// front reads what is in front of a hole, row by row: a read of many may have failed over the hole before it gave them
// all. The last look for a row fails too, where the next one would be in the damaged block; that is no loss in front of
// it.
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
				return lost(keys) // the hole was not it
			}
			return nil
		case err != nil:
			return err
		case bytes.Equal(before, keys.Begin):
			return nil // no row is left
		}
	}
	return nil
}

// readableStart reports whether the first row of a range can be read, or that there is none.
func readableStart(r kv.Reader, keys kv.KeyRange) bool {
	rows := r.GetRange(keys, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
	defer rows.Close()
	rows.Next()
	return rows.Err() == nil
}

package rev

import (
	"bytes"
	"slices"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Documents that were written together are often stored next to each other, for example after an import in the order of
// ids, or if ids are ascending. Documents in a list by id always are. Then a few range reads get the bodies of a batch
// at a fraction of the cost of a read for each, whether it is counted in messages to a cluster or in searches of a
// local store.

// WantedBody is a body to be read, given by the key of its first chunk.
type WantedBody struct {
	Key []byte
	Of  int // index of the row that wants it
}

// BodyScan reads bodies that are stored close together, for one batch of documents after another.
type BodyScan struct {
	db.Nearness
	singles int // result of together; used by a DocPipe
	// Memory of the last batch, for the next one.
	wanted []WantedBody
	ranges [2]pickRanges // for two goroutines
}

// singlesFirst and singlesMost limit how many bodies are read individually at the same time.
const (
	singlesFirst = 8
	singlesMost  = 64
)

// together returns how many bodies to read individually at the same time: fewer if bodies are large.
func (b *BodyScan) together() int {
	if b.singles == 0 {
		return singlesFirst
	}
	return b.singles
}

// took adapts this number, given the size of the last n bodies.
func (b *BodyScan) took(n, held int) {
	b.singles = min(singlesMost, 2*n, max(1, n*pipeBytes/2/max(1, held)))
}

// WorthOf is Worth for bodies read by r. If r can read many ranges together, the bodies need not be close.
func (b *BodyScan) WorthOf(r kv.Reader) bool {
	_, picks := r.(kv.RangesReader)
	return picks || b.Worth()
}

// Read reads those bodies that are close together, in key order. found is called with their first chunks, which it may
// keep, and may end the reading.
func (b *BodyScan) Read(r kv.Reader, wanted []WantedBody,
	found func(of int, first []byte) (more bool, err error)) error {
	return b.read(r, wanted, &pickRanges{}, found)
}

func (b *BodyScan) read(r kv.Reader, wanted []WantedBody, ranges *pickRanges,
	found func(of int, first []byte) (more bool, err error)) error {
	byKey := func(a, b WantedBody) int { return bytes.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(wanted, byKey) {
		slices.SortFunc(wanted, byKey)
	}
	if it, ok := kv.GetRanges(r, ranges.of(wanted)); ok {
		return pickWanted(it, wanted, found)
	}
	n, left := 0, wanted
	var arena []byte
	keep := func(of int, first []byte) (more bool, err error) {
		if cap(arena)-len(arena) < len(first) {
			arena = make([]byte, 0, max(16<<10, len(first)))
		}
		from := len(arena)
		arena = append(arena, first...)
		return found(of, arena[from:len(arena):len(arena)])
	}
	for range db.ScanRanges {
		if len(left) < db.ScanFrom {
			break
		}
		from := len(left)
		rest, more, err := scanWanted(r, left, keep)
		if left = rest; err != nil {
			return err
		}
		if n += from - len(left); !more {
			return nil
		}
	}
	b.Judge(n, len(wanted))
	return nil
}

// pickRanges is memory for the ranges of one read, and then of the next one.
type pickRanges struct {
	ranges []kv.KeyRange
	keys   []byte
}

// of returns a range for each body that contains only the key of its first chunk.
func (p *pickRanges) of(wanted []WantedBody) []kv.KeyRange {
	size := 0
	for i := range wanted {
		size += len(wanted[i].Key) + 1
	}
	p.ranges, p.keys = slices.Grow(p.ranges[:0], len(wanted)), slices.Grow(p.keys[:0], size)
	for i := range wanted {
		from := len(p.keys)
		p.keys = append(append(p.keys, wanted[i].Key...), 0)
		to := len(p.keys)
		p.ranges = append(p.ranges, kv.KeyRange{Begin: p.keys[from : to-1 : to-1], End: p.keys[from:to:to]})
	}
	return p.ranges
}

// pickWanted reads bodies whose rows come in key order. Bodies that are not stored are skipped.
func pickWanted(it kv.RangeIterator, wanted []WantedBody,
	found func(of int, first []byte) (more bool, err error)) error {
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		for len(wanted) > 0 && bytes.Compare(wanted[0].Key, row.Key) < 0 {
			wanted = wanted[1:]
		}
		for len(wanted) > 0 && bytes.Equal(wanted[0].Key, row.Key) {
			if more, err := found(wanted[0].Of, row.Value); err != nil || !more {
				return err
			}
			wanted = wanted[1:]
		}
	}
	return it.Err()
}

// scanWanted does one range read, up to a gap. It returns the bodies after the gap.
func scanWanted(r kv.Reader, wanted []WantedBody,
	found func(of int, first []byte) (more bool, err error)) (left []WantedBody, more bool, err error) {
	end := append(bytes.Clone(wanted[len(wanted)-1].Key), 0)
	it := r.GetRange(kv.KeyRange{Begin: wanted[0].Key, End: end},
		kv.RangeOptions{Limit: 2*len(wanted) + db.ScanGap, Mode: kv.ModeWantAll})
	defer it.Close()
	left = wanted
	for gap, size := 0, 0; gap < db.ScanGap && size < db.ScanGapBytes && len(left) > 0 && it.Next(); {
		row := it.KeyValue()
		order := bytes.Compare(left[0].Key, row.Key)
		// It is not stored, which its own read will find out.
		for order < 0 {
			if left = left[1:]; len(left) == 0 {
				return left, true, nil
			}
			order = bytes.Compare(left[0].Key, row.Key)
		}
		if order > 0 {
			gap++
			size += len(row.Value)
			continue
		}
		if more, err := found(left[0].Of, row.Value); err != nil || !more {
			return left, false, err
		}
		left, gap, size = left[1:], 0, 0
	}
	return left, true, it.Err()
}

// load reads bodies of rows together until they exceed room bytes. It returns their size.
func (b *BodyScan) load(s *Stream, rows []*DocNeeds, room int) (used int, err error) {
	if !b.WorthOf(s.R) {
		return 0, nil
	}
	var keys db.RawKeys
	wanted := slices.Grow(b.wanted[:0], len(rows))
	for i, row := range rows {
		key := row.Key
		if key == nil {
			key = keys.Close(s.Keys.Body(keys.Open(), row.Id, row.Rev, 0))
		}
		wanted = append(wanted, WantedBody{key, i})
	}
	b.wanted = wanted
	byKey := func(a, b WantedBody) int { return bytes.Compare(a.Key, b.Key) }
	if slices.IsSortedFunc(wanted, byKey) {
		return b.loadPart(s, rows, wanted, room, 0)
	}
	slices.SortFunc(wanted, byKey)
	_, picks := s.R.(kv.RangesReader)
	if !picks || s.Snap == nil || len(wanted) < 2*db.ScanFrom {
		return b.loadPart(s, rows, wanted, room, 0)
	}
	// Each body is searched for separately, so two goroutines take half the time.
	var (
		wg        sync.WaitGroup
		half      = len(wanted) / 2
		usedOther int
		errOther  error
	)
	wg.Go(func() { usedOther, errOther = b.loadPart(s, rows, wanted[half:], room/2, 1) })
	used, err = b.loadPart(s, rows, wanted[:half], room/2, 0)
	wg.Wait()
	if err == nil {
		err = errOther
	}
	return used + usedOther, err
}

// loadPart is load for some of the bodies, in key order. memory is the index of the goroutine's memory.
func (b *BodyScan) loadPart(
	s *Stream, rows []*DocNeeds, wanted []WantedBody, room, memory int,
) (used int, err error) {
	large := s.LargeReads()
	err = b.read(s.R, wanted, &b.ranges[memory], func(i int, first []byte) (more bool, err error) {
		row := rows[i]
		if len(first) >= keyspace.BodyChunk {
			if err := row.identify(s.Keys); err != nil {
				return false, err
			}
			read := BodyRead{R: s.R, Keys: s.Keys, Id: row.Id, Rev: row.Rev}
			if left, large := large.leave(&read, first); large != nil {
				left.large = large
				row.take(left, true)
			}
			return true, nil // otherwise it is read individually
		}
		body, err := ParseBody(first)
		if err == nil {
			row.take(body, true)
			used += len(first)
		}
		return used < room, err
	})
	return used, err
}

package layer

import (
	"bytes"
	"slices"

	"github.com/divandb/divan/layer/kv"
)

// Documents that were written together are often stored side by side: an import in the order of ids, ids that count up. Then a few range reads bring the
// bodies of a batch, at a fraction of the cost of a read for each, in messages to a cluster as in searches of a local store.

const (
	// scanFrom is how many bodies are worth a range read.
	scanFrom = 16
	// scanGap is how many rows that are not wanted a range read passes over before the next one is begun behind them.
	scanGap = 8
	// scanRanges is how many range reads there are for a batch: they wait for each other, while reads of single keys do not.
	scanRanges = 4
	// scanFailures is how many batches in a row may be scattered until no more range reads are tried.
	scanFailures = 3
)

// readBodies issues the reads of the bodies of the entries that are mapped.
func (ix *Index) readBodies(r kv.Reader, keys space, entries []entry) ([]bodyRead, error) {
	bodies := make([]bodyRead, len(entries))
	wanted := make([]wantedBody, 0, len(entries))
	for i := range entries {
		if e := &entries[i]; ix.maps(e) {
			bodies[i] = bodyRead{r: r, keys: keys, id: e.id, rev: e.rev}
			wanted = append(wanted, wantedBody{keys.body(nil, e.id, e.rev, 0), &bodies[i]})
		}
	}
	if len(wanted) >= scanFrom && ix.scattered.Load() < scanFailures {
		if err := ix.scanBodies(r, wanted); err != nil {
			return nil, err
		}
	}
	for _, w := range wanted {
		if w.body.first == nil {
			w.body.first = r.Get(w.key)
		}
	}
	return bodies, nil
}

// wantedBody is a body to be read, by the key of its first chunk.
type wantedBody struct {
	key  []byte
	body *bodyRead
}

// haveRead is a read that is done.
type haveRead []byte

func (h haveRead) Wait() ([]byte, error) { return h, nil }

// scanBodies reads what it finds close together, in the order of keys.
func (ix *Index) scanBodies(r kv.Reader, wanted []wantedBody) error {
	sorted := slices.Clone(wanted)
	slices.SortFunc(sorted, func(a, b wantedBody) int { return bytes.Compare(a.key, b.key) })
	var arena []byte
	found := 0
	left := sorted
	for range scanRanges {
		if len(left) < scanFrom {
			break
		}
		end := append(bytes.Clone(left[len(left)-1].key), 0)
		it := r.GetRange(kv.KeyRange{Begin: left[0].key, End: end}, kv.RangeOptions{Limit: 2*len(left) + scanGap, Mode: kv.ModeWantAll})
		for gap := 0; gap < scanGap && len(left) > 0 && it.Next(); gap++ {
			row := it.KeyValue()
			for len(left) > 0 && bytes.Compare(left[0].key, row.Key) < 0 {
				left = left[1:] // its own read tells that it is not there
			}
			if len(left) > 0 && bytes.Equal(left[0].key, row.Key) {
				from := len(arena)
				arena = append(arena, row.Value...)
				left[0].body.first = haveRead(arena[from:len(arena):len(arena)])
				left, gap = left[1:], -1
				found++
			}
		}
		it.Close()
		if err := it.Err(); err != nil {
			return err
		}
	}
	if 2*found < len(wanted) {
		ix.scattered.Add(1)
	} else {
		ix.scattered.Store(0)
	}
	return nil
}

package kvtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// togetherKeys is the number of keys that testRangesTogether uses.
const togetherKeys = 600

// testRangesTogether compares GetRanges with a model: random ranges of many keys, of one, and of none; on snapshots
// and transactions, also older than other commits; read to the end and only in part. A transaction with its own
// writes sees them, or declines.
func testRangesTogether(t *testing.T, e kv.Engine) {
	s := seed(t)
	c := chooser{rand.New(rand.NewPCG(s, 2))}
	stored := state{}
	var old together // the readers of the round before
	read := 0
	for round := range 40 * effort() {
		update(t, e, func(tx kv.Transaction) {
			for range 60 {
				m := c.spread()
				m.send(tx)
				m.apply(stored)
			}
		})
		now := together{model: cloneState(stored)}
		tx := begin(t, e)
		must(t, tx.ReadVersion())
		now.readers = append(now.readers, tx.Snapshot())
		snap, ok, err := kv.OpenSnapshot(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			t.Cleanup(snap.Close)
			now.readers = append(now.readers, snap)
		}
		writes := begin(t, e)
		own := together{model: cloneState(stored), readers: []kv.Reader{writes.Snapshot()}}
		for range 10 {
			m := c.spread()
			m.send(writes)
			m.apply(own.model)
		}
		for _, of := range []together{now, old, own} {
			for range 3 {
				n, err := of.check(c)
				if read += n; err != nil {
					t.Fatalf("round %d of seed %d: %v", round, s, err)
				}
			}
		}
		tx.Cancel()
		for _, r := range now.readers[1:] { // the versions of transactions are not held
			old = together{model: now.model, readers: []kv.Reader{r}}
		}
	}
	if read == 0 {
		t.Log("no reader of this engine has GetRanges")
		return
	}
	tx := begin(t, e)
	reader := tx.Snapshot()
	tx.Cancel()
	if rows, ok := kv.GetRanges(reader, []kv.KeyRange{everything}); ok {
		_, err := drain(rows)
		isCode(t, "ranges of a cancelled transaction", err, kv.CodeCancelled)
	}
}

// spread mutates a key among togetherKeys, or a few neighbouring ones.
func (c chooser) spread() mutation {
	at := c.IntN(togetherKeys)
	m := mutation{kind: "ssssscr"[c.IntN(7)], key: spreadKey(at), value: strings.Repeat("v", c.IntN(200))}
	switch {
	case m.kind == 'r':
		m.value = spreadKey(at + 1 + c.IntN(20))
	case c.IntN(30) == 0:
		m.value = strings.Repeat("w", 40_000) // fills a batch by itself
	}
	return m
}

func spreadKey(i int) string { return fmt.Sprintf("k%04d", i) }

// together are readers of one version, with the state at it.
type together struct {
	readers []kv.Reader
	model   state
}

// check reads random ranges by each reader. n is the number of readers that did GetRanges.
func (o together) check(c chooser) (n int, err error) {
	var ranges []kv.KeyRange
	var all []string
	gap, length := 1+c.IntN(40), 1+c.IntN(20)
	for at := c.IntN(togetherKeys); at < togetherKeys; at += c.IntN(gap) {
		end := at + c.IntN(length)
		r := keyRange(spreadKey(at), spreadKey(end))
		if c.IntN(2) == 0 { // a single key
			r.End, end = append(key(spreadKey(at)), 0), at+1
		}
		ranges = append(ranges, r)
		if rows := o.model.rows(r, kv.RangeOptions{}); rows != "" {
			all = append(all, strings.Split(rows, " ")...)
		}
		at = end
	}
	most := len(all)
	if c.IntN(3) == 0 {
		most = c.IntN(len(all) + 1)
	}
	for _, r := range o.readers {
		rows, ok := kv.GetRanges(r, ranges)
		if !ok {
			continue
		}
		n++
		got, err := first(rows, most, most == len(all))
		if want := strings.Join(all[:most], " "); err != nil || got != want {
			return n, fmt.Errorf("%d ranges of %T have %.200q, %w, want %.200q", len(ranges), r, got, err, want)
		}
	}
	return n, nil
}

// first reads n rows and, if end is set, checks that there are no more.
func first(it kv.RangeIterator, n int, end bool) (string, error) {
	defer it.Close()
	var kept []kv.KeyValue // the interface allows that
	for ; n > 0 && it.Next(); n-- {
		kept = append(kept, it.KeyValue())
	}
	var more []string
	if end && it.Next() {
		more = append(more, fmt.Sprintf("and then %s", it.KeyValue().Key))
	}
	err := it.Err()
	it.Close()
	var rows []string
	for _, row := range kept {
		rows = append(rows, fmt.Sprintf("%s=%s", row.Key, row.Value))
	}
	return strings.Join(append(rows, more...), " "), err
}

// scanTogether reads ranges by GetRanges if the reader has it.
func scanTogether(r kv.Reader, ranges ...kv.KeyRange) error {
	rows, ok := kv.GetRanges(r, ranges)
	if !ok {
		return nil
	}
	_, err := drain(rows)
	return err
}

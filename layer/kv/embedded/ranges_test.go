package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// GetRanges returns the same rows as reading each range alone: ranges near to each other and far apart, empty ones,
// ones with many rows, and ones that end where the next begins; single keys, cached and not; for snapshots and
// transactions.
func TestGetRanges(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{MemTableBytes: 1 << 20}.WithTransactionTime(time.Hour))
	random := rand.New(rand.NewPCG(1, 2))
	name := func(i int) string { return fmt.Sprintf("row%06d", i) }
	for range 40 {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			from := random.IntN(30_000)
			for i := range 200 {
				tx.Set([]byte(name(from+i*(1+random.IntN(3)))), []byte(strings.Repeat("v", random.IntN(500))))
			}
			tx.ClearRange(kv.KeyRange{Begin: []byte(name(from + 500)), End: []byte(name(from + 600))})
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	snap, ok, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer snap.Close()
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	for round := range 200 {
		gap, length := 1+random.IntN(1000), 1+random.IntN(1+round)
		var ranges []kv.KeyRange
		for at := random.IntN(20_000); at < 32_000 && len(ranges) < 600; at += random.IntN(gap) {
			end := at + random.IntN(length)
			r := kv.KeyRange{Begin: []byte(name(at)), End: []byte(name(end))}
			if round%3 == 0 || round%3 == 1 && random.IntN(2) == 0 { // a single key
				r.End, end = append([]byte(name(at)), 0), at+1
			}
			ranges = append(ranges, r)
			at = end
		}
		want := []string{}
		for _, r := range ranges {
			rows := snap.GetRange(r, kv.RangeOptions{Mode: kv.ModeWantAll})
			want = append(want, allRows(t, rows)...)
		}
		for which, r := range []kv.Reader{snap, tx.Snapshot()} {
			rows, ok := kv.GetRanges(r, ranges)
			if !ok {
				t.Fatalf("reader %d has no GetRanges", which)
			}
			if got := allRows(t, rows); !slices.Equal(got, want) {
				t.Fatalf("round %d, reader %d, %d ranges: %d rows, want %d", round, which, len(ranges), len(got),
					len(want))
			}
		}
	}
	tx.Set([]byte("x"), []byte("y"))
	if _, ok := kv.GetRanges(tx.Snapshot(), []kv.KeyRange{{Begin: []byte("a"), End: []byte("z")}}); ok {
		t.Error("GetRanges of a transaction ignores its own writes")
	}
	if _, ok := kv.GetRanges(tx, []kv.KeyRange{{Begin: []byte("a"), End: []byte("z")}}); ok {
		t.Error("GetRanges works where conflicts are wanted")
	}
	snap.Close()
	rows, ok := kv.GetRanges(snap, []kv.KeyRange{{Begin: []byte("a"), End: []byte("z")}})
	if !ok || rows.Next() || !kv.IsCode(rows.Err(), kv.CodeCancelled) {
		t.Errorf("a closed snapshot: %t, %v", ok, rows.Err())
	}
}

func allRows(t *testing.T, it kv.RangeIterator) (rows []string) {
	t.Helper()
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		rows = append(rows, fmt.Sprintf("%s=%s", row.Key, row.Value))
	}
	if err := it.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

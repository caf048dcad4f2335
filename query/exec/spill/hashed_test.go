package spill_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// TestSet checks that a set finds exactly the keys that it has, while it grows far above the memory.
func TestSet(t *testing.T) {
	_, store, w := newStore(t, spill.Dir(t.TempDir()), 1<<30)
	s := store.NewSet()
	defer s.Free()
	rnd := rand.New(rand.NewPCG(1, 1))
	known := map[string]bool{}
	key := func() string {
		n := rnd.IntN(30000)
		return fmt.Sprintf("%d%s", n, strings.Repeat("k", n%150))
	}
	for range 40000 {
		k := key()
		fresh, err := s.Add([]byte(k))
		if err != nil || fresh == known[k] {
			t.Fatalf("Add(%.20q) = %t, %v; known %t", k, fresh, err, known[k])
		}
		known[k] = true
		k = key()
		if found, err := s.Has([]byte(k)); err != nil || found != known[k] {
			t.Fatalf("Has(%.20q) = %t, %v", k, found, err)
		}
	}
	if s.Disk() == 0 || w.Used() > w.Limit() {
		t.Errorf("%d bytes in files, %d in memory", s.Disk(), w.Used())
	}
}

// TestTable compares what a table finds with the rows that were added, in memory and in files.
func TestTable(t *testing.T) {
	for _, n := range []int{0, 100, 20000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			_, store, _ := newStore(t, spill.Dir(t.TempDir()), 1<<30)
			table := store.NewTable(2)
			defer table.Free()
			rnd := rand.New(rand.NewPCG(1, 1))
			want := map[string][]int64{}
			for i := range n {
				k := fmt.Sprint(rnd.IntN(n / 5))
				if i%3 == 0 {
					k = "many"
				}
				want[k] = append(want[k], int64(i))
				pad := strings.Repeat("p", rnd.IntN(300))
				if err := table.Add([]byte(k), []types.Datum{types.NewInt(int64(i)), types.NewText(pad)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := table.Done(); err != nil {
				t.Fatal(err)
			}
			if spilled := table.Disk() > 0; spilled != (n > 1000) || table.Len() != int64(n) {
				t.Errorf("%d bytes in files, %d rows", table.Disk(), table.Len())
			}
			want["none"] = nil
			for k, rows := range want {
				// Two scans take turns.
				a, b := table.Find([]byte(k)), table.Find([]byte(k))
				var gotA, gotB []int64
				for len(gotA) < 300 {
					x, err := a.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					gotA = append(gotA, x[0].I)
					if y, err := b.Next(); err != nil {
						t.Fatal(err)
					} else {
						gotB = append(gotB, y[0].I)
					}
				}
				rows = rows[:min(len(rows), 300)]
				if !slices.Equal(gotA, rows) || !slices.Equal(gotB, rows) {
					t.Fatalf("%s: got %v and %v, want %v", k, gotA, gotB, rows)
				}
			}
		})
	}
}

package embedded_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// A cleared range frees its space by itself, including logs; rows cleared one by one do so on request.
func TestEngine_Reclaim(t *testing.T) {
	for name, test := range map[string]struct {
		clear func(tx kv.Transaction, i int)
		ask   bool
	}{
		"range": {func(tx kv.Transaction, i int) {
			if i == 0 {
				tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("b")})
			}
		}, false},
		"rows": {func(tx kv.Transaction, i int) { tx.Clear(fmt.Appendf(nil, "a%06d", i)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := mustOpen(t, dir,
				embedded.Options{Logger: quiet(t), MemTableBytes: 4 << 20}.WithTransactionTime(500*time.Millisecond))
			const rows = 400
			write := func(do func(tx kv.Transaction, i int)) {
				t.Helper()
				for from := 0; from < rows; from += 50 {
					_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{},
						func(tx kv.Transaction) (struct{}, error) {
							for i := from; i < from+50; i++ {
								do(tx, i)
							}
							return struct{}{}, nil
						})
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			random := rand.NewChaCha8([32]byte{1})
			fill := func(prefix string) func(tx kv.Transaction, i int) {
				return func(tx kv.Transaction, i int) {
					value := make([]byte, 90_000)
					_, _ = random.Read(value)
					tx.Set(fmt.Appendf(nil, "%s%06d", prefix, i), value)
				}
			}
			write(fill("a"))
			if size := sizeOf(t, dir); size < 30<<20 {
				t.Fatalf("the store has %d bytes", size)
			}
			write(test.clear)
			if test.ask {
				if err := e.Reclaim(t.Context(), kv.KeyRange{Begin: []byte("a"), End: []byte("b")}); err != nil {
					t.Fatal(err)
				}
			}
			shrinks(t, dir)
			write(fill("b")) // into the emptied logs
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
			for i := range rows {
				if v := get(t, e, fmt.Sprintf("b%06d", i)); len(v) != 90_000 {
					t.Fatalf("row %d has %d bytes", i, len(v))
				}
			}
		})
	}
}

// Many ranges that held next to nothing do not prevent the space of a large one from being freed.
func TestEngine_Reclaim_afterManySmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := mustOpen(t, dir,
		embedded.Options{Logger: quiet(t), MemTableBytes: 4 << 20}.WithTransactionTime(500*time.Millisecond))
	do := func(f func(tx kv.Transaction)) {
		t.Helper()
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			f(tx)
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	const ranges, together, rows = 1200, 100, 70 // rows: more than are deleted one by one
	for from := 0; from < ranges; from += together {
		do(func(tx kv.Transaction) {
			for i := range together * rows {
				tx.Set(fmt.Appendf(nil, "s%06d/%03d", from+i/rows, i%rows), nil)
			}
		})
		do(func(tx kv.Transaction) {
			for i := range together {
				tx.ClearRange(kv.KeyRange{Begin: fmt.Appendf(nil, "s%06d/", from+i),
					End: fmt.Appendf(nil, "s%06d0", from+i)})
			}
		})
		// Wait until the reclaimer, which runs once a second, has looked at these.
		if from+together == 1000 {
			for e.SmallRanges() < 1000 && t.Context().Err() == nil {
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	random := rand.NewChaCha8([32]byte{1})
	for from := 0; from < 400; from += 50 {
		do(func(tx kv.Transaction) {
			for i := range 50 {
				value := make([]byte, 90_000)
				_, _ = random.Read(value)
				tx.Set(fmt.Appendf(nil, "a%06d", from+i), value)
			}
		})
	}
	do(func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("b")}) })
	shrinks(t, dir)
}

// shrinks waits until the files of a directory take less than 10 MB.
func shrinks(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	size := sizeOf(t, dir)
	for ; size > 10<<20 && ctx.Err() == nil; size = sizeOf(t, dir) {
		time.Sleep(50 * time.Millisecond)
	}
	if size > 10<<20 {
		t.Errorf("the store still has %d bytes", size)
	}
}

// sizeOf returns the disk space of the files in a directory.
func sizeOf(t *testing.T, dir string) (size int64) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if info, err := n.Info(); err == nil {
			size += info.Size()
		} else if !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return size
}

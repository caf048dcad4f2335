package embedded_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

func clearRange(t *testing.T, e *embedded.Engine, begin, end string) {
	t.Helper()
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.ClearRange(kv.KeyRange{Begin: []byte(begin), End: []byte(end)})
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// healed waits until nothing is damaged any more.
func healed(t *testing.T, e *embedded.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for len(e.Degraded()) > 0 && ctx.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	if faults, _ := verify(t, e); len(faults) > 0 || len(e.Degraded()) > 0 {
		t.Fatalf("still damaged: %q: %v", e.Degraded(), faults)
	}
}

// compacted compacts the whole store, as far as possible in a short time.
func compacted(t *testing.T, e *embedded.Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := e.Pebble().Compact(ctx, []byte("a"), []byte("z"), false)
	if err != nil && !pebble.IsCorruptionError(err) && ctx.Err() == nil {
		t.Fatal(err)
	}
}

// hasRows checks that all rows of the prefixes have the values of a turn.
func hasRows(t *testing.T, e *embedded.Engine, prefixes string, turn int) {
	t.Helper()
	for _, p := range []byte(prefixes) {
		if lost := unreadable(t, e, p, turn); len(lost) > 0 {
			t.Errorf("%d rows of %c cannot be read", len(lost), p)
		}
	}
}

// hasNone checks that the prefixes have no rows.
func hasNone(t *testing.T, e *embedded.Engine, prefixes string) {
	t.Helper()
	for _, p := range []byte(prefixes) {
		all := kv.KeyRange{Begin: []byte{p}, End: []byte{p + 1}}
		for again := true; again; {
			tx := e.Begin(t.Context())
			rows := tx.Snapshot().GetRange(all, kv.RangeOptions{Mode: kv.ModeWantAll})
			for rows.Next() {
				t.Fatalf("%s exists", rows.KeyValue().Key)
			}
			err := rows.Err()
			rows.Close()
			tx.Cancel()
			if again = kv.IsCode(err, kv.CodeTooOld); err != nil && !again { // transactions of some tests are short
				t.Fatal(err)
			}
		}
	}
}

// deadPlaces are stores with a damaged block of rows of b to e, in the newest version of those rows.
var deadPlaces = []struct {
	name  string
	turns int
	part  float64
	down  bool
}{
	{"in level 0", 1, 0.4, false},
	{"under newer tables", 2, 0.5, false},
	{"further down", 6, 0.45, false},
	{"at the bottom", 2, 0.4, true},
}

// Once everything in a damaged block is cleared, the store is healthy again, whatever else its table holds, and even
// if the same keys were written again. Readers that can still see the cleared rows are not disturbed.
func TestEngine_dropsDeadBlocks(t *testing.T) {
	for _, c := range deadPlaces {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turn := c.turns - 1
			dir := damagedInside(t, bottomStore(t, c.turns, c.down), c.part, turn)
			o := embedded.Options{Logger: quiet(t)}.WithTransactionTime(time.Second)
			e := mustOpen(t, dir, o)
			if faults, _ := verify(t, e); len(faults) == 0 {
				t.Fatal("nothing is damaged")
			}
			reader, ok, err := kv.OpenSnapshot(t.Context(), e)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			clearRange(t, e, "b", "f")
			if err := e.Pebble().Flush(); err != nil {
				t.Fatal(err)
			}
			if err := writeRows(t, e, 'c', 100); err != nil {
				t.Fatal(err)
			}
			// While the snapshot reads, nothing that it sees is dropped.
			verify(t, e)
			compacted(t, e)
			there := 0
			for p := byte('b'); p <= 'e'; p++ {
				for i := range damagedRows {
					v, err := reader.Get(rowKey(p, i)).Wait()
					if err == nil && bytes.Equal(v, rowValue(p, i, turn)) {
						there++
					} else if !kv.IsCode(err, kv.CodeFileCorrupt) {
						t.Fatalf("the snapshot has lost row %d of %c: %v", i, p, err)
					}
				}
			}
			if there == 0 || there == 4*damagedRows || len(e.Degraded()) == 0 {
				t.Errorf("the snapshot reads %d rows; %q", there, e.Degraded())
			}
			reader.Close()

			sound := func(e *embedded.Engine) {
				t.Helper()
				healed(t, e)
				hasRows(t, e, "af", turn)
				hasRows(t, e, "c", 100)
				hasNone(t, e, "bde")
			}
			sound(e)
			copied := filepath.Join(t.TempDir(), "copy")
			if err := e.Checkpoint(t.Context(), copied); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			for _, d := range []string{dir, copied} {
				e = mustOpen(t, d, o)
				sound(e)
				clearRange(t, e, "a", "g")
				hasNone(t, e, "abcdef")
				if err := e.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A damaged block may hold other rows beside the cleared ones: it stays until those are cleared too.
func TestEngine_keepsBlocksOfOthers(t *testing.T) {
	dir := writtenStore(t, 2)
	damageAll(t, dir, 0.4)
	e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)}.WithTransactionTime(time.Second))
	defer closeEngine(t, e)
	before, _ := verify(t, e)
	if len(before) == 0 {
		t.Fatal("nothing is damaged")
	}
	middle := string(before[0].Keys.Begin) + "\x00"
	clearRange(t, e, "a", middle)
	if err := e.Pebble().Flush(); err != nil {
		t.Fatal(err)
	}
	compacted(t, e)
	clearRange(t, e, middle+"\x00", "g") // all but one possible key
	if err := e.Pebble().Flush(); err != nil {
		t.Fatal(err)
	}
	compacted(t, e)
	after, _ := verify(t, e)
	if len(after) == 0 || len(e.Degraded()) == 0 {
		t.Errorf("%v of %v remain; %q", after, before, e.Degraded())
	}
	clearRange(t, e, "a", "g")
	healed(t, e)
	hasNone(t, e, "abcdef")
}

// Deletions in a damaged block hide rows further down, which must not come back.
func TestEngine_keepsDamagedDeletions(t *testing.T) {
	dir := bottomStore(t, 1, true)
	e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
	// Deletions above all rows, among other rows that make the table large.
	for i := 0; i < damagedRows; i += 50 {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for j := i; j < i+50; j++ {
				tx.Clear(rowKey('c', j))
				tx.Set(append(rowKey('c', j), '+'), rowValue('c', j, 0))
			}
			return struct{}{}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Pebble().Flush(); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	damageNewest(t, dir, 0.5)
	e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)}.WithTransactionTime(time.Second))
	defer closeEngine(t, e)
	gone := func() (lost int) {
		for i := range damagedRows {
			tx := e.Begin(t.Context())
			v, err := tx.Snapshot().Get(rowKey('c', i)).Wait()
			tx.Cancel()
			switch {
			case kv.IsCode(err, kv.CodeFileCorrupt):
				lost++
			case err != nil || v != nil:
				t.Fatalf("row %d, which was deleted, has %d bytes: %v", i, len(v), err)
			}
		}
		return lost
	}
	verify(t, e)
	compacted(t, e)
	if gone() == 0 {
		t.Fatal("no deletion is damaged")
	}
	// The same range is cleared again; without the damage, nothing of it would be visible.
	clearRange(t, e, "c", "d")
	healed(t, e)
	if gone() > 0 {
		t.Error("damaged")
	}
	hasNone(t, e, "c")
	hasRows(t, e, "abdef", 0)
}

// damageNewest damages the newest table with users' rows.
func damageNewest(t *testing.T, dir string, part float64) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range slices.Backward(tables) { // the names have leading zeros
		blocks, err := embedded.RowsBlocks(table)
		if err != nil {
			t.Fatal(err)
		}
		if len(blocks) == 0 || blocks[0].Last[0] == 0xff {
			continue // it has no rows, or only private ones
		}
		info, err := os.Stat(table)
		if err != nil {
			t.Fatal(err)
		}
		damageAt(t, table, int64(float64(info.Size())*part))
		return
	}
	t.Fatal("no table has rows")
}

// Rows written after their range was cleared are not dead, whether or not both are in one table.
func TestEngine_keepsRowsAfterClear(t *testing.T) {
	for name, apart := range map[string]bool{"in one table": false, "in two tables": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := bottomStore(t, 1, true)
			e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
			clearRange(t, e, "c", "d")
			if err := writeRows(t, e, 'b', 1); err != nil {
				t.Fatal(err)
			}
			if apart {
				if err := e.Pebble().Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := writeRows(t, e, 'c', 1); err != nil {
				t.Fatal(err)
			}
			if err := e.Pebble().Flush(); err != nil {
				t.Fatal(err)
			}
			closeEngine(t, e)
			damageNewest(t, dir, 0.7) // rows of c
			e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)}.WithTransactionTime(time.Second))
			defer closeEngine(t, e)
			verify(t, e)
			compacted(t, e)
			if faults, _ := verify(t, e); len(faults) == 0 || len(unreadable(t, e, 'c', 1)) == 0 {
				t.Errorf("nothing is damaged: %v", faults)
			}
			hasRows(t, e, "b", 1)
			clearRange(t, e, "c", "d")
			healed(t, e)
			hasNone(t, e, "c")
			hasRows(t, e, "b", 1)
		})
	}
}

// A table without its index is removed once everything in it is cleared.
func TestEngine_dropsDeadTables(t *testing.T) {
	dir := t.TempDir()
	// has small tables
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)}.WithFS(smallDisk{vfs.Default}))
	if err != nil {
		t.Fatal(err)
	}
	for p := byte('a'); p <= 'f'; p++ {
		if err := writeRows(t, e, p, 0); err != nil {
			t.Fatal(err)
		}
	}
	compacted(t, e)
	closeEngine(t, e)
	damageIndex(t, dir)
	e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)}.WithTransactionTime(time.Second))
	if faults, _ := verify(t, e); len(faults) == 0 || len(e.Degraded()) == 0 {
		t.Fatal("nothing is damaged")
	}
	clearRange(t, e, "a", "g")
	healed(t, e)
	hasNone(t, e, "abcdef")
	closeEngine(t, e)
	e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
	healed(t, e)
	hasNone(t, e, "abcdef")
	closeEngine(t, e)
}

// smallDisk is a file system that reports a small size.
type smallDisk struct{ vfs.FS }

func (smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 250 << 20, TotalBytes: 300 << 20, UsedBytes: 50 << 20}, nil
}

func (d smallDisk) Unwrap() vfs.FS { return d.FS }

// The power is cut repeatedly while a store drops dead blocks.
func TestCrash_deadBlocks(t *testing.T) {
	oneGoroutine(t)
	from := map[string]string{}
	for _, c := range deadPlaces {
		from[c.name] = damagedInside(t, bottomStore(t, c.turns, c.down), c.part, c.turns-1)
	}
	for round := range rounds("DIVAN_DEAD_ROUNDS", 8) {
		c := deadPlaces[round%len(deadPlaces)]
		rng := rand.New(rand.NewPCG(uint64(round), 2))
		fs := newCrashDisk()
		if _, err := vfs.Clone(vfs.Default, fs, from[c.name], "/store", vfs.CloneSync); err != nil {
			t.Fatal(err)
		}
		o := embedded.Options{Logger: quiet(t), MemTableBytes: 1 << 20}.WithTransactionTime(100 * time.Millisecond)
		e := mustOpen(t, "/store", o.WithFS(fs))
		if round%2 == 0 {
			verify(t, e)
		}
		clearRange(t, e, "b", "f")
		for range 2 + rng.IntN(3) {
			time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
			after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rng.IntN(3)], RNG: rng})
			closeEngine(t, e)
			fs = after
			e = mustOpen(t, "/store", o.WithFS(fs))
			hasNone(t, e, "bcde")
			hasRows(t, e, "af", c.turns-1)
		}
		verify(t, e)
		healed(t, e)
		hasNone(t, e, "bcde")
		hasRows(t, e, "af", c.turns-1)
		closeEngine(t, e)
	}
}

func closeEngine(t *testing.T, e *embedded.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// bottomStore is writtenStore, with all rows in the lowest level if bottom is set.
func bottomStore(t *testing.T, turns int, bottom bool) string {
	t.Helper()
	dir := writtenStore(t, turns)
	if !bottom {
		return dir
	}
	e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
	if err := e.Pebble().Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	return dir
}

// damagedInside returns a copy of a store with one damaged block in the newest version of rows of b to e.
func damagedInside(t *testing.T, from string, part float64, turn int) string {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(from, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		info, err := os.Stat(table)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < 100_000 {
			continue
		}
		dir := copyOf(t, from)
		damageAt(t, filepath.Join(dir, filepath.Base(table)), int64(float64(info.Size())*part))
		e, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false)
		if err != nil {
			t.Fatal(err)
		}
		faults, _ := verify(t, e)
		lost := 0
		for p := byte('b'); p <= 'e'; p++ {
			lost += len(unreadable(t, e, p, turn))
		}
		closeEngine(t, e)
		if lost > 0 && len(faults) == 1 && faults[0].Keys.Begin[0] > 'a' && faults[0].Keys.End[0] < 'f' {
			return dir
		}
	}
	t.Fatal("no table has such a block")
	return ""
}

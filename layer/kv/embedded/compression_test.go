package embedded_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded"
)

// A store opens whatever happens to users' rows, since its private keys are in separate tables, after flushes and
// after compactions.
func TestTables_ownKeys(t *testing.T) {
	for name, turns := range map[string]int{"flushed": 2, "compacted": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := writtenStore(t, turns)
			e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
			if name == "compacted" {
				all := []byte("\xff\xff")
				if err := e.Pebble().Compact(context.Background(), []byte("a"), all, false); err != nil {
					t.Fatal(err)
				}
			}
			own := ownTables(t, e.Pebble())
			closeEngine(t, e)
			files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
			if err != nil {
				t.Fatal(err)
			}
			damaged := 0
			for _, file := range files {
				if own[filepath.Base(file)] {
					continue
				}
				blocks, err := embedded.RowsBlocks(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range blocks {
					damageAt(t, file, b.At)
					damaged++
				}
			}
			if damaged < 100 {
				t.Fatalf("%d blocks of users' rows", damaged)
			}
			e = mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
			if lost := len(unreadable(t, e, 'c', turns-1)); lost != damagedRows {
				t.Errorf("%d rows cannot be read, want %d", lost, damagedRows)
			}
			if err := writeRows(t, e, 'g', 0); err != nil {
				t.Error(err)
			}
			hasRows(t, e, "g", 0)
			closeEngine(t, e)
		})
	}
}

// ownTables returns the files of the tables with the engine's private keys. None of them may have other keys.
func ownTables(t *testing.T, db *pebble.DB) map[string]bool {
	t.Helper()
	levels, err := db.SSTables()
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	first := []byte("\xff")
	for _, tables := range levels {
		for _, table := range tables {
			begins, ends := table.Smallest.UserKey, table.Largest.UserKey
			if bytes.Compare(begins, first) < 0 && bytes.Compare(ends, first) > 0 {
				t.Errorf("a table has keys from %q to %q", begins, ends)
			}
			own[table.BackingSSTNum.String()+".sst"] = bytes.Compare(begins, first) >= 0
		}
	}
	return own
}

// A densely compressed store takes less space, and is readable under either setting.
func TestTables_dense(t *testing.T) {
	oneGoroutine(t) // and under the race detector Pebble varies the sizes of tables at random
	row := func(i int) (key, value string) {
		hash := sha256.Sum256([]byte{byte(i), byte(i >> 8)})
		return fmt.Sprintf("city/%06d", i), fmt.Sprintf(`{"country":"AD","name":"%x","lat":"42.5%d"}`, hash[:6], i)
	}
	const rows = 20_000
	write := func(c embedded.Compression) (dir string, size uint64) {
		dir = t.TempDir()
		e := mustOpen(t, dir, embedded.Options{Logger: quiet(t), Compression: c})
		// Two tables with the same keys; a single one would be moved without being rewritten.
		for range 2 {
			for i := 0; i < rows; i += 1000 {
				var pairs []string
				for j := range 1000 {
					key, value := row(i + j)
					pairs = append(pairs, key, value)
				}
				set(t, e, pairs...)
			}
			if err := e.Pebble().Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Pebble().Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
			t.Fatal(err)
		}
		levels, err := e.Pebble().SSTables()
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range levels[len(levels)-1] {
			size += table.Size
		}
		closeEngine(t, e)
		return dir, size
	}
	_, fast := write(embedded.CompressFast)
	dir, dense := write(embedded.CompressDense)
	if dense > fast*9/10 {
		t.Errorf("%d bytes, and %d when they are dense", fast, dense)
	}
	e := mustOpen(t, dir, embedded.Options{Logger: quiet(t)})
	for i := range rows {
		key, value := row(i)
		if got := get(t, e, key); got != value {
			t.Fatalf("%s is %q, want %q", key, got, value)
		}
	}
	closeEngine(t, e)
}

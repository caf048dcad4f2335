package embedded_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded"
)

// A store opens whatever happened to the rows of users, since its own keys are in tables of their own: in those that
// writes are flushed to, and in those of compactions.
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

// ownTables are the files of the tables with the engine's own keys, none of which has others.
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

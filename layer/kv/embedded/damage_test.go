package embedded_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/kvtest"
)

// damagedRows is how many rows each prefix from a to f has in a store that is to be damaged.
const damagedRows = 600

func rowKey(prefix byte, i int) []byte { return fmt.Appendf(nil, "%c/%06d", prefix, i) }

// rowValue returns an incompressible value, so that a block holds only a handful of rows.
func rowValue(prefix byte, i, turn int) []byte {
	r := rand.New(rand.NewPCG(uint64(prefix)<<32|uint64(i), uint64(turn)))
	b := make([]byte, 900)
	for j := range b {
		b[j] = byte(r.Uint32())
	}
	return b
}

// writeRows writes the rows of a prefix, and returns the first error.
func writeRows(t *testing.T, e *embedded.Engine, prefix byte, turn int) error {
	t.Helper()
	for i := 0; i < damagedRows; i += 50 {
		_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			for j := i; j < i+50; j++ {
				tx.Set(rowKey(prefix, j), rowValue(prefix, j, turn))
			}
			return struct{}{}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writtenStore returns a closed store with the prefixes a to f. It is flushed once per turn, which determines the
// levels of the tables.
func writtenStore(t *testing.T, turns int) string {
	t.Helper()
	dir := t.TempDir()
	e, err := embedded.Open(dir, embedded.Options{MemTableBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for turn := range turns {
		for p := byte('a'); p <= 'f'; p++ {
			if err := writeRows(t, e, p, turn); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Pebble().Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// damageAll changes a byte in every large table, at the given fraction of its length.
func damageAll(t *testing.T, dir string, part float64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables in %s: %v", dir, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 100_000 { // not the table with the store's private keys
			damageAt(t, file, int64(float64(info.Size())*part))
		}
	}
}

// rowsBlock finds the first block of rows with a prefix, in the newest table that has one.
func rowsBlock(t *testing.T, dir, prefix string) (file string, at int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Backward(files) {
		blocks, err := embedded.RowsBlocks(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			if bytes.HasPrefix(b.Last, []byte(prefix)) {
				return file, b.At
			}
		}
	}
	t.Fatalf("no table has rows of %s", prefix)
	return "", 0
}

// damageAt changes a byte of a file in place, visible at once to everyone.
var damageAt = kvtest.FlipAt

// unreadable returns the keys of a prefix that cannot be read. Readable ones may only have that turn's value.
func unreadable(t *testing.T, e *embedded.Engine, prefix byte, turn int) (keys [][]byte) {
	t.Helper()
	for i := range damagedRows {
		key := rowKey(prefix, i)
		tx := e.Begin(t.Context())
		v, err := tx.Snapshot().Get(key).Wait()
		tx.Cancel()
		switch {
		case kv.IsCode(err, kv.CodeFileCorrupt):
			keys = append(keys, key)
		case err != nil:
			t.Fatal(err)
		case !bytes.Equal(v, rowValue(prefix, i, turn)):
			t.Fatalf("%s has another value than was written: %d bytes", key, len(v))
		}
	}
	return keys
}

// walkPast reads the whole store in long range reads, continuing after each fault.
func walkPast(t *testing.T, e *embedded.Engine, faults []kv.Fault) {
	t.Helper()
	next, met := []byte("a"), 0
	for {
		tx := e.Begin(t.Context())
		rows := tx.Snapshot().GetRange(kv.KeyRange{Begin: next, End: []byte("z")},
			kv.RangeOptions{Mode: kv.ModeWantAll})
		for rows.Next() {
			next = append(rows.KeyValue().Key, 0)
		}
		err := rows.Err()
		rows.Close()
		tx.Cancel()
		if err == nil {
			break
		}
		if !kv.IsCode(err, kv.CodeFileCorrupt) {
			t.Fatal(err)
		}
		met++
		end := []byte("z")
		for _, f := range faults {
			if bytes.Compare(next, f.Keys.End) < 0 && bytes.Compare(f.Keys.End, end) < 0 {
				end = f.Keys.End
			}
		}
		next = end
	}
	if met == 0 {
		t.Error("no damage was met")
	}
}

// verify collects what Verify reports.
func verify(t *testing.T, e *embedded.Engine) (faults []kv.Fault, read kv.Verified) {
	t.Helper()
	read, err := e.Verify(t.Context(), kv.VerifyOptions{Fault: func(f kv.Fault) error {
		faults = append(faults, f)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return faults, read
}

// logged is a log whose lines the tests count.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	return len(b), nil
}

func (l *logged) with(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// A store with damaged blocks accepts writes as long as it runs, in whichever level the blocks are, and through all
// compactions. Readable rows are right, and Verify names the unreadable keys.
func TestEngine_goesOnWithDamage(t *testing.T) {
	oneGoroutine(t)
	for _, c := range []struct {
		name  string
		turns int
		part  float64
	}{
		{"in level 0", 1, 0.4}, {"at the first block of level 0", 2, 0.0001}, {"further down", 6, 0.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writtenStore(t, c.turns)
			damageAll(t, dir, c.part)
			r, err := embedded.OpenReadOnly(dir, embedded.Options{Logger: quiet(t)}, false)
			if err != nil {
				t.Fatal(err)
			}
			read, _ := verify(t, r)
			walkPast(t, r, read)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			var log logged
			e := mustOpen(t, dir,
				embedded.Options{MemTableBytes: 256 << 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			lost := 0
			faults, _ := verify(t, e)
			for p := byte('a'); p <= 'f'; p++ {
				for _, key := range unreadable(t, e, p, c.turns-1) {
					lost++
					if !slices.ContainsFunc(faults, func(f kv.Fault) bool {
						return bytes.Compare(f.Keys.Begin, key) <= 0 && bytes.Compare(key, f.Keys.End) < 0
					}) {
						t.Errorf("%s cannot be read, and Verify does not say so", key)
					}
				}
			}
			if lost == 0 {
				t.Fatal("nothing is damaged")
			}
			walkPast(t, e, faults)
			// 26 MB in memtables of 256 KB: a hundred flushes.
			for turn := range 8 {
				for p := byte('b'); p <= 'g'; p++ {
					if err := writeRows(t, e, p, 100+turn); err != nil {
						t.Fatalf("turn %d of %c: %v", turn, p, err)
					}
				}
			}
			for p := byte('b'); p <= 'g'; p++ {
				if lost := unreadable(t, e, p, 107); len(lost) > 0 {
					t.Errorf("%d rows of %c cannot be read though all were written again", len(lost), p)
				}
			}
			if d := e.Degraded(); len(d) != 1 || !strings.HasPrefix(d[0], "store_damaged: ") {
				t.Errorf("Degraded is %q", d)
			}
			if n := log.with("level=ERROR"); n > 2*len(faults)+2 {
				t.Errorf("the log has %d errors:\n%s", n, strings.Join(log.lines, ""))
			}
		})
	}
}

// Nothing can leave level 0 when a table in it has lost its index: once it is full, writes are refused instead of
// waiting for ever.
func TestEngine_refusesWithoutIndex(t *testing.T) {
	oneGoroutine(t)
	dir := writtenStore(t, 1)
	damageIndex(t, dir)
	var log logged
	e, err := embedded.Open(dir,
		embedded.Options{MemTableBytes: 256 << 10, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }() // it returns the failure
	for turn := 0; err == nil && turn < 100; turn++ {
		err = writeRows(t, e, 'g', turn)
	}
	if err == nil || e.Failed() == nil {
		t.Fatalf("writes end with %v, the store with %v", err, e.Failed())
	}
	if n := log.with("level=ERROR"); n > 10 {
		t.Errorf("the log has %d errors:\n%s", n, strings.Join(log.lines, ""))
	}
}

// damageIndex damages the index of a table of a closed store.
func damageIndex(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	file := files[slices.IndexFunc(files, func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Size() > 100_000
	})]
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := info.Size() - 200; at > info.Size()*9/10; at -= 200 {
		damageAt(t, file, at)
		e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
		if err != nil {
			t.Fatal(err)
		}
		faults, _ := verify(t, e)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(faults, func(f kv.Fault) bool { return strings.Contains(f.What, "its index") }) {
			return
		}
		damageAt(t, file, at) // restored
	}
	t.Fatal("no index was found")
}

package kvtest

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// testConflicts runs each read against each write: a transaction reads, another one writes and commits, then the
// first one writes elsewhere and commits.
func testConflicts(t *testing.T, e kv.Engine) {
	reads := []struct {
		name string
		read func(tx kv.Transaction) error
		of   string // the keys among a b c d e that the read depends on
	}{
		{"get", func(tx kv.Transaction) error { return get(tx, "c") }, "c"},
		{"get of nothing", func(tx kv.Transaction) error { return get(tx, "e") }, "e"},
		{"snapshot get", func(tx kv.Transaction) error { return get(tx.Snapshot(), "c") }, ""},
		{"range", func(tx kv.Transaction) error { return scan(tx, keyRange("b", "d"), kv.RangeOptions{}) }, "bc"},
		{"range to the end", func(tx kv.Transaction) error {
			return scan(tx, keyRange("c", "z"), kv.RangeOptions{})
		}, "cde"},
		{"reverse range", func(tx kv.Transaction) error {
			return scan(tx, keyRange("b", "d"), kv.RangeOptions{Reverse: true})
		}, "bc"},
		{"snapshot range", func(tx kv.Transaction) error {
			return scan(tx.Snapshot(), keyRange("a", "z"), kv.RangeOptions{})
		}, ""},
		{"limited range", func(tx kv.Transaction) error {
			return scan(tx, keyRange("a", "z"), kv.RangeOptions{Limit: 2})
		}, "ab"},
		{"limited reverse range", func(tx kv.Transaction) error {
			return scan(tx, keyRange("a", "d\x00"), kv.RangeOptions{Limit: 2, Reverse: true})
		}, "cd"},
		{"limit as long as the range", func(tx kv.Transaction) error {
			return scan(tx, keyRange("b", "d"), kv.RangeOptions{Limit: 2})
		}, "bc"},
		{"first key from", func(tx kv.Transaction) error {
			return getKey(tx, kv.FirstGreaterOrEqual(key("b\x00")))
		}, "c"},
		{"third key from", func(tx kv.Transaction) error {
			return getKey(tx, kv.KeySelector{Key: key("b"), Offset: 3})
		}, "bcd"},
		{"last key before", func(tx kv.Transaction) error { return getKey(tx, kv.LastLessThan(key("c"))) }, "b"},
		{"last key up to", func(tx kv.Transaction) error { return getKey(tx, kv.LastLessOrEqual(key("c"))) }, "c"},
		{"no key after", func(tx kv.Transaction) error { return getKey(tx, kv.FirstGreaterThan(key("d"))) }, "e"},
		{"no key before", func(tx kv.Transaction) error { return getKey(tx, kv.LastLessThan(key("a"))) }, ""},
		{"snapshot GetRanges", func(tx kv.Transaction) error {
			return scanTogether(tx.Snapshot(), keyRange("a", "b"), keyRange("c", "z"))
		}, ""},
		{"snapshot key", func(tx kv.Transaction) error {
			return getKey(tx.Snapshot(), kv.FirstGreaterThan(key("a")))
		}, ""},
		{"explicit", func(tx kv.Transaction) error {
			tx.AddReadConflict(keyRange("b", "c\x00"))
			return get(tx.Snapshot(), "b")
		}, "bc"},
		{"explicit, nothing", func(tx kv.Transaction) error {
			tx.AddReadConflict(keyRange("b", "b"))
			return get(tx.Snapshot(), "b")
		}, ""},
		{"nothing", func(tx kv.Transaction) error { _, err := tx.ReadVersion().Wait(); return err }, ""},
		{"own value", func(tx kv.Transaction) error { tx.Set(key("c"), nil); return get(tx, "c") }, ""},
		{"own clear", func(tx kv.Transaction) error { tx.Clear(key("c")); return get(tx, "c") }, ""},
		{"own cleared range", func(tx kv.Transaction) error {
			tx.ClearRange(keyRange("b", "d"))
			return scan(tx, keyRange("b", "d"), kv.RangeOptions{})
		}, ""},
		{"own atomic", func(tx kv.Transaction) error {
			tx.Atomic(kv.AtomicAdd, key("c"), []byte{1})
			return get(tx, "c")
		}, "c"},
		{"own atomic, not read", func(tx kv.Transaction) error {
			tx.Atomic(kv.AtomicAdd, key("c"), []byte{1})
			return get(tx.Snapshot(), "a")
		}, ""},
	}
	writes := []struct {
		name  string
		write func(tx kv.Transaction, k string)
		of    string // the keys that the write touches, for one key; else ""
	}{
		{"set", func(tx kv.Transaction, k string) { tx.Set(key(k), []byte("new")) }, ""},
		{"set to the same", func(tx kv.Transaction, k string) { tx.Set(key(k), []byte(k)) }, ""},
		{"clear", func(tx kv.Transaction, k string) { tx.Clear(key(k)) }, ""},
		{"atomic", func(tx kv.Transaction, k string) { tx.Atomic(kv.AtomicAdd, key(k), []byte{1}) }, ""},
		{"clear range", func(tx kv.Transaction, k string) { tx.ClearRange(keyRange(k, k+"\x00")) }, ""},
		{"stamped value", func(tx kv.Transaction, k string) {
			tx.SetVersionstampedValue(key(k), make([]byte, 10), 0)
		}, ""},
		{"write conflict", func(tx kv.Transaction, k string) { tx.AddWriteConflict(keyRange(k, k+"\x00")) }, ""},
		{"wide clear range", func(tx kv.Transaction, k string) { tx.ClearRange(keyRange("a", "z")) }, "abcde"},
	}
	for _, r := range reads {
		for _, w := range writes {
			for _, k := range []string{"a", "b", "c", "d", "e"} {
				put(t, e, "a=a", "b=b", "c=c", "d=d")
				update(t, e, func(tx kv.Transaction) { tx.Clear(key("e")) })
				name := fmt.Sprintf("%s against %s of %s", r.name, w.name, k)
				reader, writer := begin(t, e), begin(t, e)
				if err := r.read(reader); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				w.write(writer, k)
				wantCommit(t, name+", writer", writer, 0)
				reader.Set(key("elsewhere"), nil)
				touched := k
				if w.of != "" {
					touched = w.of
				}
				want := kv.Code(0)
				if meets(r.of, touched) {
					want = kv.CodeNotCommitted
				}
				wantCommit(t, name, reader, want)
				reader.Cancel()
			}
		}
	}
}

func meets(a, b string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

func get(r kv.Reader, k string) error { _, err := r.Get(key(k)).Wait(); return err }

func getKey(r kv.Reader, s kv.KeySelector) error { _, err := r.GetKey(s).Wait(); return err }

func scan(r kv.Reader, kr kv.Range, o kv.RangeOptions) error { _, err := collect(r, kr, o); return err }

// testConflictTrimming checks that a range read that its caller ends early conflicts only with the part it read, and
// that a stamped key conflicts with reads of the place where it ends up.
func testConflictTrimming(t *testing.T, e kv.Engine) {
	const rows = 4000
	name := func(i int) []byte { return key(fmt.Sprintf("k%05d", i)) }
	for from := 0; from < rows; from += 1000 {
		update(t, e, func(tx kv.Transaction) {
			for i := from; i < from+1000; i++ {
				tx.Set(name(i), []byte("v"))
			}
		})
	}
	for _, tt := range []struct {
		rows    int
		reverse bool
		write   int
		want    kv.Code
	}{
		{1000, false, 0, kv.CodeNotCommitted},
		{1000, false, 999, kv.CodeNotCommitted},
		{1000, false, rows - 1, 0},
		{1000, true, rows - 1, kv.CodeNotCommitted},
		{1000, true, rows - 1000, kv.CodeNotCommitted},
		{1000, true, 0, 0},
		{rows, false, rows - 1, kv.CodeNotCommitted},
		{rows, true, 0, kv.CodeNotCommitted},
	} {
		tx := begin(t, e)
		it := tx.GetRange(keyRange("k", "l"), kv.RangeOptions{Reverse: tt.reverse})
		for range tt.rows {
			if !it.Next() {
				t.Fatal(it.Err())
			}
		}
		it.Close()
		update(t, e, func(tx kv.Transaction) { tx.Set(name(tt.write), []byte("new")) })
		tx.Set(key("z"), nil)
		wantCommit(t, fmt.Sprintf("%+v", tt), tx, tt.want)
	}

	for _, tt := range []struct {
		r    kv.KeyRange
		want kv.Code
	}{
		{keyRange("s", "t"), kv.CodeNotCommitted},
		{keyRange("s\x00", "s\x80"), kv.CodeNotCommitted},
		{keyRange("s\x80", "t"), 0},
	} {
		tx := begin(t, e)
		if err := scan(tx, tt.r, kv.RangeOptions{}); err != nil {
			t.Fatal(err)
		}
		update(t, e, func(tx kv.Transaction) { tx.SetVersionstampedKey(append(key("s"), placeholder...), 1, nil) })
		tx.Set(key("z"), nil)
		wantCommit(t, "stamped key in "+showRange(tt.r), tx, tt.want)
	}

	// A write conflict range alone makes others conflict and makes a commit, but is not a write.
	reader, tx := begin(t, e), begin(t, e)
	must(t, reader.Get(key("q")))
	tx.AddWriteConflict(keyRange("q", "r"))
	if tx.Wrote() {
		t.Error("a write conflict counts as a write")
	}
	wantCommit(t, "write conflict alone", tx, 0)
	reader.Set(key("z"), nil)
	wantCommit(t, "after a write conflict alone", reader, kv.CodeNotCommitted)

	// A read-only transaction cannot conflict.
	reader = begin(t, e)
	must(t, reader.Get(key("q")))
	put(t, e, "q=1")
	wantCommit(t, "read only", reader, 0)
}

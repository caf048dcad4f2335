package kvtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

func testRanges(t *testing.T, e kv.Engine) {
	put(t, e, "a=1", "b=2", "c=3", "d=4", "e=5")
	tests := []struct {
		r    kv.Range
		o    kv.RangeOptions
		want string
	}{
		{everything, kv.RangeOptions{}, "a=1 b=2 c=3 d=4 e=5"},
		{everything, kv.RangeOptions{Reverse: true}, "e=5 d=4 c=3 b=2 a=1"},
		{everything, kv.RangeOptions{Mode: kv.ModeWantAll}, "a=1 b=2 c=3 d=4 e=5"},
		{everything, kv.RangeOptions{Mode: kv.ModeExact, Limit: 3}, "a=1 b=2 c=3"},
		{everything, kv.RangeOptions{Limit: 9}, "a=1 b=2 c=3 d=4 e=5"},
		{everything, kv.RangeOptions{Limit: 1, Reverse: true}, "e=5"},
		{keyRange("b", "d"), kv.RangeOptions{}, "b=2 c=3"},
		{keyRange("b", "d"), kv.RangeOptions{Reverse: true}, "c=3 b=2"},
		{keyRange("b", "d\x00"), kv.RangeOptions{}, "b=2 c=3 d=4"},
		{keyRange("bb", "bc"), kv.RangeOptions{}, ""},
		{keyRange("c", "c"), kv.RangeOptions{}, ""},
		{keyRange("d", "b"), kv.RangeOptions{}, ""},
		{keyRange("d", "b"), kv.RangeOptions{Reverse: true}, ""},
		{keyRange("x", "z"), kv.RangeOptions{Reverse: true, Limit: 1}, ""},
		{kv.SelectorRange{Begin: kv.FirstGreaterThan(key("a")), End: kv.FirstGreaterThan(key("c"))}, kv.RangeOptions{},
			"b=2 c=3"},
		{kv.SelectorRange{Begin: kv.LastLessOrEqual(key("c")), End: kv.LastLessThan(key("e"))}, kv.RangeOptions{},
			"c=3"},
		{kv.SelectorRange{Begin: kv.LastLessThan(key("c")), End: kv.FirstGreaterOrEqual(key("z"))},
			kv.RangeOptions{Limit: 2}, "b=2 c=3"},
		{kv.SelectorRange{Begin: kv.LastLessThan(key("a")), End: kv.KeySelector{Key: key("a"), Offset: 3}},
			kv.RangeOptions{}, "a=1 b=2"},
		{kv.SelectorRange{Begin: kv.KeySelector{Key: key("e"), OrEqual: true, Offset: -2},
			End: kv.KeySelector{Key: key("e"), Offset: 9}}, kv.RangeOptions{Reverse: true}, "e=5 d=4 c=3"},
	}
	tx := begin(t, e)
	for _, tt := range tests {
		wantRows(t, tx, tt.r, tt.o, tt.want)
		wantRows(t, tx.Snapshot(), tt.r, tt.o, tt.want)
	}
	testLongRange(t, e)
}

// testLongRange reads more rows than an engine fetches at once, in both directions, with early stops and with large
// rows.
func testLongRange(t *testing.T, e kv.Engine) {
	const rows = 5000
	name := func(i int) string { return fmt.Sprintf("long%05d", i) }
	for from := 0; from < rows; from += 1000 {
		update(t, e, func(tx kv.Transaction) {
			for i := from; i < from+1000; i++ {
				tx.Set(key(name(i)), []byte(strings.Repeat("v", i%300)))
			}
		})
	}
	for _, reverse := range []bool{false, true} {
		tx := begin(t, e)
		it := tx.GetRange(keyRange("long", "lonh"), kv.RangeOptions{Reverse: reverse})
		n := 0
		for ; it.Next(); n++ {
			i := n
			if reverse {
				i = rows - 1 - n
			}
			if row := it.KeyValue(); string(row.Key) != name(i) || len(row.Value) != i%300 {
				t.Fatalf("reverse %v: row %d is %q with %d bytes", reverse, n, row.Key, len(row.Value))
			}
		}
		if it.Err() != nil || n != rows {
			t.Errorf("reverse %v: %d rows of %d, %v", reverse, n, rows, it.Err())
		}
		if it.Next() {
			t.Error("a row after the end")
		}
		it.Close()
		it.Close()
	}
	it := begin(t, e).GetRange(keyRange("long", "lonh"), kv.RangeOptions{Limit: 3000})
	n := 0
	for it.Next() {
		n++
	}
	if it.Close(); n != 3000 {
		t.Errorf("%d rows with a limit of 3000", n)
	}
	it = begin(t, e).GetRange(keyRange("long", "lonh"), kv.RangeOptions{})
	if !it.Next() {
		t.Fatal(it.Err())
	}
	if it.Close(); it.Next() {
		t.Error("a row after Close")
	}
	update(t, e, func(tx kv.Transaction) {
		for i := range 20 {
			tx.Set(key(fmt.Sprintf("big%02d", i)), repeat('b', 90_000))
		}
	})
	it = begin(t, e).GetRange(keyRange("big", "bih"), kv.RangeOptions{})
	defer it.Close()
	for n = 0; it.Next(); n++ {
		if len(it.KeyValue().Value) != 90_000 {
			t.Errorf("row %d has %d bytes", n, len(it.KeyValue().Value))
		}
	}
	if n != 20 || it.Err() != nil {
		t.Errorf("%d large rows, %v", n, it.Err())
	}
}

// testIssue checks that Get and GetKey see the transaction's writes as of the call, however late the caller waits,
// and that a range read sees earlier writes and is not disturbed by writes behind the iterator.
func testIssue(t *testing.T, e kv.Engine) {
	const rows = 3000
	name := func(i int) []byte { return key(fmt.Sprintf("k%05d", i)) }
	update(t, e, func(tx kv.Transaction) {
		for i := range rows {
			tx.Set(name(i), []byte("old"))
		}
	})
	for _, reverse := range []bool{false, true} {
		tx := begin(t, e)
		tx.Set(key("k00010x"), []byte("mine"))
		tx.ClearRange(keyRange("k00020", "k00030"))
		tx.Clear(key("k02999"))
		value, gone := tx.Get(key("k00500")), tx.Get(key("k00020"))
		first := tx.GetKey(kv.FirstGreaterOrEqual(key("k00500")))
		it := tx.GetRange(everything, kv.RangeOptions{Reverse: reverse})
		n, mine := 0, 0
		for ; it.Next(); n++ {
			switch row := it.KeyValue(); string(row.Value) {
			case "old":
				tx.Clear(row.Key)
				tx.Set(row.Key, []byte("new"))
			case "mine":
				mine++
				tx.Clear(row.Key)
			default:
				t.Fatalf("row %q has %q, written behind the iterator", row.Key, row.Value)
			}
		}
		if it.Err() != nil || n != rows+1-10-1 || mine != 1 {
			t.Errorf("reverse %v: %d rows, %d of them new before the read, %v", reverse, n, mine, it.Err())
		}
		it.Close()
		if v := must(t, value); string(v) != "old" {
			t.Errorf("Get has %q", v)
		}
		if v := must(t, gone); v != nil {
			t.Errorf("Get of a cleared key has %q", v)
		}
		if k := must(t, first); string(k) != "k00500" {
			t.Errorf("GetKey has %q", k)
		}
		wantValue(t, tx, "k00500", "new")
	}
}

func testSelectors(t *testing.T, e kv.Engine) {
	put(t, e, "b=1", "d=2", "f=3")
	tx := begin(t, e)
	mixed := begin(t, e)
	mixed.Set(key("a"), nil)
	mixed.Clear(key("b"))
	mixed.ClearRange(keyRange("c", "e"))
	mixed.Set(key("d"), nil)
	for _, r := range []struct {
		name string
		kv.Reader
		keys []string
	}{
		{"store", tx, []string{"b", "d", "f"}},
		{"own writes", mixed, []string{"a", "d", "f"}},
		{"snapshot", tx.Snapshot(), []string{"b", "d", "f"}},
	} {
		for _, k := range []string{"", "a", "b", "b\x00", "c", "d", "e", "f", "g", "\xff"} {
			for _, orEqual := range []bool{false, true} {
				for offset := -5; offset <= 5; offset++ {
					sel := kv.KeySelector{Key: key(k), OrEqual: orEqual, Offset: offset}
					if got, want := string(must(t, r.GetKey(sel))), resolve(r.keys, sel); got != want {
						t.Errorf("%s: %s is %q, want %q", r.name, showSelector(sel), got, want)
					}
				}
			}
		}
	}
}

// resolve defines key selectors, over sorted keys.
func resolve(keys []string, sel kv.KeySelector) string {
	at := -1 // the last key that is less, or equal if OrEqual
	for i, k := range keys {
		if k < string(sel.Key) || sel.OrEqual && k == string(sel.Key) {
			at = i
		}
	}
	at += sel.Offset
	switch {
	case at < 0:
		return ""
	case at >= len(keys):
		return "\xff"
	}
	return keys[at]
}

package kvtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

const none = "<none>"

// atomicTests are operations on a stored value with their results, from FoundationDB's documentation of mutation
// types.
var atomicTests = []struct {
	op            kv.AtomicOp
	old, operand  string
	want, comment string
}{
	{kv.AtomicAdd, none, "\x05\x00", "\x05\x00", "missing is zero"},
	{kv.AtomicAdd, "\x01\x00", "\x02\x00", "\x03\x00", ""},
	{kv.AtomicAdd, "\xff\x00", "\x01\x00", "\x00\x01", "carries"},
	{kv.AtomicAdd, "\xff\xff", "\x01\x00", "\x00\x00", "wraps around"},
	{kv.AtomicAdd, "\xff", "\x02\x00\x00", "\x01\x01\x00", "the stored value is extended"},
	{kv.AtomicAdd, "\x01\x02\x03", "\x01", "\x02", "and cut to the operand"},
	{kv.AtomicAdd, "\x05", "\xff", "\x04", "adding -1"},
	{kv.AtomicAdd, "", "\x07", "\x07", "an empty value is zero"},
	{kv.AtomicAdd, "\x07", "", "", "to no bytes"},
	{kv.AtomicMin, none, "\x05", "\x05", "missing becomes the operand"},
	{kv.AtomicMin, "\x03", "\x05", "\x03", ""},
	{kv.AtomicMin, "\x05", "\x03", "\x03", ""},
	{kv.AtomicMin, "\x00\x01", "\xff\x00", "\xff\x00", "little-endian"},
	{kv.AtomicMin, "\x03", "\x00\x01", "\x03\x00", "extended"},
	{kv.AtomicMin, "\x09\x01", "\x0a", "\x09", "cut"},
	{kv.AtomicMin, "", "\x01", "\x00", "an empty value is zero"},
	{kv.AtomicMax, none, "\x05", "\x05", "missing is zero"},
	{kv.AtomicMax, "\x03", "\x05", "\x05", ""},
	{kv.AtomicMax, "\x05", "\x03", "\x05", ""},
	{kv.AtomicMax, "\x00\x01", "\xff\x00", "\x00\x01", "little-endian"},
	{kv.AtomicMax, "\x03", "\x02\x00", "\x03\x00", "extended"},
	{kv.AtomicMax, "\x09\x01", "\x0a", "\x0a", "cut"},
	{kv.AtomicByteMin, none, "b", "b", "missing becomes the operand"},
	{kv.AtomicByteMin, "a", "b", "a", ""},
	{kv.AtomicByteMin, "b", "aa", "aa", "as bytes.Compare has it"},
	{kv.AtomicByteMin, "", "a", "", ""},
	{kv.AtomicByteMax, none, "b", "b", ""},
	{kv.AtomicByteMax, "a", "b", "b", ""},
	{kv.AtomicByteMax, "b", "aa", "b", ""},
	{kv.AtomicByteMax, "b", "ba", "ba", ""},
	{kv.AtomicAnd, none, "\x0f", "\x0f", "missing becomes the operand"},
	{kv.AtomicAnd, "\x3c", "\x0f", "\x0c", ""},
	{kv.AtomicAnd, "\x3c", "\x0f\xff", "\x0c\x00", "extended"},
	{kv.AtomicAnd, "\x3c\xff", "\x0f", "\x0c", "cut"},
	{kv.AtomicOr, none, "\x0f", "\x0f", ""},
	{kv.AtomicOr, "\x30", "\x0f\x01", "\x3f\x01", ""},
	{kv.AtomicXor, none, "\x0f", "\x0f", ""},
	{kv.AtomicXor, "\x3c", "\x0f", "\x33", ""},
	{kv.AtomicAppendIfFits, none, "ab", "ab", ""},
	{kv.AtomicAppendIfFits, "ab", "cd", "abcd", ""},
	{kv.AtomicAppendIfFits, "ab", "", "ab", ""},
	{kv.AtomicAppendIfFits, strings.Repeat("x", kv.MaxValueSize-1), "y", strings.Repeat("x", kv.MaxValueSize-1) + "y",
		"just fits"},
	{kv.AtomicAppendIfFits, strings.Repeat("x", kv.MaxValueSize), "y", strings.Repeat("x", kv.MaxValueSize),
		"does not fit"},
	{kv.AtomicCompareAndClear, none, "a", none, "stays missing"},
	{kv.AtomicCompareAndClear, none, "", none, "missing is not empty"},
	{kv.AtomicCompareAndClear, "a", "a", none, "equal"},
	{kv.AtomicCompareAndClear, "", "", none, "equal and empty"},
	{kv.AtomicCompareAndClear, "a", "b", "a", "different"},
	{kv.AtomicCompareAndClear, "a", "ab", "a", "longer"},
}

// testAtomics runs each operation in every place where an engine may apply it: at commit, on a value written by the
// transaction itself, and before and after a read of the key.
func testAtomics(t *testing.T, e kv.Engine) {
	for i, tt := range atomicTests {
		name := fmt.Sprintf("op %d on %.20q with %q (%s)", tt.op, tt.old, tt.operand, tt.comment)
		short := func(v string) string { return fmt.Sprintf("%.30q of %d bytes", v, len(v)) }
		check := func(how, got string) {
			t.Helper()
			if got != tt.want {
				t.Errorf("%s, %s: %s, want %s", name, how, short(got), short(tt.want))
			}
		}
		write := func(tx kv.Transaction, k []byte) {
			if tt.old == none {
				tx.Clear(k)
			} else {
				tx.Set(k, []byte(tt.old))
			}
		}
		k := []byte{'s', byte(i)}
		update(t, e, func(tx kv.Transaction) { write(tx, k) })
		update(t, e, func(tx kv.Transaction) { tx.Atomic(tt.op, k, []byte(tt.operand)) })
		check("stored", show(must(t, begin(t, e).Get(k))))

		update(t, e, func(tx kv.Transaction) { write(tx, k) })
		tx := begin(t, e)
		tx.Atomic(tt.op, k, []byte(tt.operand))
		check("stored, read back by Get", show(must(t, tx.Get(k))))
		want := string(k) + "=" + tt.want
		if tt.want == none {
			want = ""
		}
		for _, reverse := range []bool{false, true} {
			if got, err := collect(tx, kv.KeyRange{Begin: k, End: append(k, 0)},
				kv.RangeOptions{Reverse: reverse}); err != nil || got != want {
				t.Errorf("%s, read back by GetRange: %.40q, %v", name, got, err)
			}
		}
		wantCommit(t, name, tx, 0)
		check("stored, after a read", show(must(t, begin(t, e).Get(k))))

		k = []byte{'o', byte(i)}
		tx = begin(t, e)
		write(tx, k)
		tx.Atomic(tt.op, k, []byte(tt.operand))
		check("own, read back", show(must(t, tx.Get(k))))
		wantCommit(t, name, tx, 0)
		check("own", show(must(t, begin(t, e).Get(k))))

		if tt.old == none {
			k = []byte{'r', byte(i)}
			update(t, e, func(tx kv.Transaction) { tx.Set(k, []byte("x")) })
			update(t, e, func(tx kv.Transaction) {
				tx.ClearRange(kv.KeyRange{Begin: k, End: append(k, 0)})
				tx.Atomic(tt.op, k, []byte(tt.operand))
			})
			check("cleared range", show(must(t, begin(t, e).Get(k))))
		}
	}

	// Several operations on one key, in order, with a set and a clear among them.
	put(t, e, "n=\x01")
	update(t, e, func(tx kv.Transaction) {
		tx.Atomic(kv.AtomicAdd, key("n"), []byte{1})
		tx.Atomic(kv.AtomicXor, key("n"), []byte{0xff})
		tx.Atomic(kv.AtomicAdd, key("n"), []byte{1})
		tx.Atomic(kv.AtomicAdd, key("gone"), []byte{1})
		tx.Clear(key("gone"))
		tx.Atomic(kv.AtomicAdd, key("kept"), []byte{1})
		tx.Set(key("kept"), []byte{5})
		tx.Atomic(kv.AtomicAdd, key("kept"), []byte{1})
	})
	wantStored(t, e, "n", "\xfe")
	wantStored(t, e, "gone", none)
	wantStored(t, e, "kept", "\x06")
}

// testAtomicRace checks that additions from many goroutines, without reads, never conflict and are never lost.
func testAtomicRace(t *testing.T, e kv.Engine) {
	const workers, rounds = 16, 30
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				tx := e.Begin(t.Context())
				tx.Atomic(kv.AtomicAdd, key("n"), []byte{1, 0, 0, 0})
				tx.Atomic(kv.AtomicAppendIfFits, key("log"), []byte("x"))
				if err := tx.Commit(); err != nil {
					t.Errorf("an addition failed: %v", err)
				}
			}
		})
	}
	wg.Wait()
	wantStored(t, e, "n", string([]byte{workers * rounds % 256, workers * rounds / 256, 0, 0}))
	if v := must(t, begin(t, e).Get(key("log"))); len(v) != workers*rounds {
		t.Errorf("%d appended of %d", len(v), workers*rounds)
	}
}

package kvtest

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
)

func testLimits(t *testing.T, e kv.Engine) {
	longest := repeat('k', kv.MaxKeySize)
	largest := repeat('v', kv.MaxValueSize)
	update(t, e, func(tx kv.Transaction) { tx.Set(longest, largest) })
	if v := must(t, begin(t, e).Get(longest)); len(v) != len(largest) {
		t.Errorf("the largest value came back with %d bytes", len(v))
	}
	if k := must(t, begin(t, e).GetKey(kv.LastLessThan(key("l")))); len(k) != len(longest) {
		t.Errorf("the longest key came back with %d bytes", len(k))
	}
	update(t, e, func(tx kv.Transaction) {
		tx.ClearRange(kv.KeyRange{Begin: longest, End: append(repeat('k', kv.MaxKeySize), 0)})
	})
	if v := must(t, begin(t, e).Get(longest)); v != nil {
		t.Error("the longest key is still there")
	}

	// A transaction may be as large as the limit, but not larger.
	chunk := repeat('c', 90_000)
	fill := func(tx kv.Transaction, chunks int) {
		for i := range chunks {
			tx.Set([]byte{'f', byte(i)}, chunk)
		}
	}
	tx := begin(t, e)
	fill(tx, 100)
	if s := tx.Size(); s < 100*len(chunk) || s > kv.MaxTransactionSize {
		t.Errorf("a transaction of 9 MB has size %d", s)
	}
	wantCommit(t, "9 MB", tx, 0)
	wantStored(t, e, "f\x63", string(chunk))
	tx = begin(t, e)
	fill(tx, 120)
	wantCommit(t, "10.8 MB", tx, kv.CodeTransactionTooLarge)
	tx = begin(t, e)
	tx.Set(key("g"), nil)
	for i := range 1200 {
		k := append(repeat('r', 9_000), byte(i>>8), byte(i))
		tx.AddReadConflict(kv.KeyRange{Begin: k, End: append(k, 0)})
	}
	wantCommit(t, "20 MB of read conflicts", tx, kv.CodeTransactionTooLarge)
	wantStored(t, e, "g", none)

	// The size limit does not apply to reads of a transaction without writes.
	tx = begin(t, e)
	for i := range 1200 {
		must(t, tx.Get(append(repeat('r', 9_000), byte(i>>8), byte(i))))
	}
	wantCommit(t, "many reads", tx, 0)
}

func testIllegal(t *testing.T, e kv.Engine) {
	outside := []byte{0xff, 'x'}
	tests := []struct {
		name string
		call func(tx kv.Transaction)
		code kv.Code
	}{
		{"set outside", func(tx kv.Transaction) { tx.Set(outside, nil) }, kv.CodeKeyOutsideRange},
		{"set at the end", func(tx kv.Transaction) { tx.Set([]byte{0xff}, nil) }, kv.CodeKeyOutsideRange},
		{"clear outside", func(tx kv.Transaction) { tx.Clear(outside) }, kv.CodeKeyOutsideRange},
		{"clear range outside", func(tx kv.Transaction) {
			tx.ClearRange(kv.KeyRange{Begin: key("a"), End: outside})
		}, kv.CodeKeyOutsideRange},
		{"atomic outside", func(tx kv.Transaction) {
			tx.Atomic(kv.AtomicAdd, outside, []byte{1})
		}, kv.CodeKeyOutsideRange},
		{"read conflict outside", func(tx kv.Transaction) {
			tx.AddReadConflict(kv.KeyRange{Begin: key("a"), End: outside})
		}, kv.CodeKeyOutsideRange},
		{"write conflict outside", func(tx kv.Transaction) {
			tx.AddWriteConflict(kv.KeyRange{Begin: key("a"), End: outside})
		}, kv.CodeKeyOutsideRange},
		{"key too large", func(tx kv.Transaction) { tx.Set(repeat('k', kv.MaxKeySize+1), nil) }, kv.CodeKeyTooLarge},
		{"cleared key too large", func(tx kv.Transaction) {
			tx.Clear(repeat('k', kv.MaxKeySize+1))
		}, kv.CodeKeyTooLarge},
		{"value too large", func(tx kv.Transaction) {
			tx.Set(key("a"), repeat('v', kv.MaxValueSize+1))
		}, kv.CodeValueTooLarge},
		{"operand too large", func(tx kv.Transaction) {
			tx.Atomic(kv.AtomicOr, key("a"), repeat('v', kv.MaxValueSize+1))
		}, kv.CodeValueTooLarge},
		{"inverted clear", func(tx kv.Transaction) { tx.ClearRange(keyRange("b", "a")) }, kv.CodeInvertedRange},
		{"inverted read conflict", func(tx kv.Transaction) {
			tx.AddReadConflict(keyRange("b", "a"))
		}, kv.CodeInvertedRange},
		{"inverted write conflict", func(tx kv.Transaction) {
			tx.AddWriteConflict(keyRange("b", "a"))
		}, kv.CodeInvertedRange},
		{"no such operation", func(tx kv.Transaction) { tx.Atomic(99, key("a"), []byte{1}) }, kv.CodeClientInvalid},
		{"zero operation", func(tx kv.Transaction) { tx.Atomic(0, key("a"), []byte{1}) }, kv.CodeClientInvalid},
		{"stamp past the key", func(tx kv.Transaction) {
			tx.SetVersionstampedKey(repeat('k', 12), 3, nil)
		}, kv.CodeClientInvalid},
		{"stamp before the key", func(tx kv.Transaction) {
			tx.SetVersionstampedKey(repeat('k', 12), -1, nil)
		}, kv.CodeClientInvalid},
		{"stamp past the value", func(tx kv.Transaction) {
			tx.SetVersionstampedValue(key("a"), repeat('v', 9), 0)
		}, kv.CodeClientInvalid},
		{"stamp far past the value", func(tx kv.Transaction) {
			tx.SetVersionstampedValue(key("a"), repeat('v', 20), 1<<62)
		}, kv.CodeClientInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tx := begin(t, e)
			tx.Set(key("a"), []byte("legal"))
			wantValue(t, tx, "a", "legal")
			tt.call(tx)
			fails(t, tx.Get(key("a")), tt.code)
			isCode(t, "range", scan(tx, everything, kv.RangeOptions{}), tt.code)
			tx.Set(key("a"), []byte("more"))
			wantCommit(t, "commit", tx, tt.code)
			if kv.Retryable(tx.Commit()) {
				t.Error("an illegal transaction can be retried")
			}
			wantStored(t, e, "a", none)
		})
	}

	// An illegal read fails only itself.
	tx := begin(t, e)
	fails(t, tx.Get(outside), kv.CodeKeyOutsideRange)
	fails(t, tx.Get(repeat('k', kv.MaxKeySize+1)), kv.CodeKeyTooLarge)
	fails(t, tx.GetKey(kv.FirstGreaterThan(outside)), kv.CodeKeyOutsideRange)
	isCode(t, "range", scan(tx, kv.KeyRange{Begin: key("a"), End: outside}, kv.RangeOptions{}), kv.CodeKeyOutsideRange)
	tx.Set(key("a"), []byte("1"))
	wantCommit(t, "after illegal reads", tx, 0)
}

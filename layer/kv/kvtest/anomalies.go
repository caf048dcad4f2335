package kvtest

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// testAnomalies runs the anomalies of the literature (Adya; Fekete's read-only anomaly) with fixed interleavings. In
// each, at least one transaction must fail, or none may see an impossible state.
func testAnomalies(t *testing.T, e kv.Engine) {
	reset := func(t *testing.T) {
		put(t, e, "x=1", "y=1")
		update(t, e, func(tx kv.Transaction) { tx.ClearRange(keyRange("z", "zz")) })
	}
	t.Run("lost update", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		wantValue(t, a, "x", "1")
		wantValue(t, b, "x", "1")
		a.Set(key("x"), []byte("a"))
		b.Set(key("x"), []byte("b"))
		wantCommit(t, "first", a, 0)
		wantCommit(t, "second", b, kv.CodeNotCommitted)
		wantStored(t, e, "x", "a")
	})
	t.Run("dirty write", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		a.Set(key("x"), []byte("a"))
		b.Set(key("x"), []byte("b"))
		b.Set(key("y"), []byte("b"))
		wantCommit(t, "blind b", b, 0)
		a.Set(key("y"), []byte("a"))
		wantCommit(t, "blind a", a, 0)
		wantRows(t, begin(t, e), keyRange("x", "z"), kv.RangeOptions{}, "x=a y=a")
	})
	t.Run("dirty and aborted read", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		a.Set(key("x"), []byte("a"))
		wantValue(t, b, "x", "1")
		a.Cancel()
		wantValue(t, b, "x", "1")
		wantStored(t, e, "x", "1")
	})
	t.Run("fuzzy read and read skew", func(t *testing.T) {
		reset(t)
		a := begin(t, e)
		wantValue(t, a, "x", "1")
		put(t, e, "x=2", "y=2")
		wantValue(t, a, "x", "1")
		wantValue(t, a, "y", "1")
		wantRows(t, a, keyRange("x", "z"), kv.RangeOptions{}, "x=1 y=1")
	})
	t.Run("phantom", func(t *testing.T) {
		reset(t)
		a := begin(t, e)
		wantRows(t, a, keyRange("z", "zz"), kv.RangeOptions{}, "")
		put(t, e, "z1=phantom")
		wantRows(t, a, keyRange("z", "zz"), kv.RangeOptions{}, "")
		a.Set(key("x"), nil)
		wantCommit(t, "after a phantom", a, kv.CodeNotCommitted)
	})
	t.Run("write skew", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		for _, tx := range []kv.Transaction{a, b} {
			wantRows(t, tx, keyRange("x", "z"), kv.RangeOptions{}, "x=1 y=1")
		}
		a.Set(key("x"), []byte("0"))
		b.Set(key("y"), []byte("0"))
		wantCommit(t, "first", a, 0)
		wantCommit(t, "second", b, kv.CodeNotCommitted)
	})
	t.Run("write skew on phantoms", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		for _, tx := range []kv.Transaction{a, b} {
			wantRows(t, tx, keyRange("z", "zz"), kv.RangeOptions{}, "")
		}
		a.Set(key("za"), nil)
		b.Set(key("zb"), nil)
		wantCommit(t, "first", a, 0)
		wantCommit(t, "second", b, kv.CodeNotCommitted)
	})
	t.Run("snapshot reads allow write skew", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		for _, tx := range []kv.Transaction{a, b} {
			wantRows(t, tx.Snapshot(), keyRange("x", "z"), kv.RangeOptions{}, "x=1 y=1")
		}
		a.Set(key("x"), []byte("0"))
		b.Set(key("y"), []byte("0"))
		wantCommit(t, "first", a, 0)
		wantCommit(t, "second", b, 0)
	})
	t.Run("read-only anomaly", func(t *testing.T) {
		// x is a checking account and y a savings account. b withdraws from x, seeing both; a pays into y; c reads
		// both after a. If c sees a and not b, then b must come after a, and so must have seen y with a.
		reset(t)
		a, b := begin(t, e), begin(t, e)
		wantRows(t, b, keyRange("x", "z"), kv.RangeOptions{}, "x=1 y=1")
		wantValue(t, a, "y", "1")
		a.Set(key("y"), []byte("21"))
		wantCommit(t, "a", a, 0)
		c := begin(t, e)
		wantRows(t, c, keyRange("x", "z"), kv.RangeOptions{}, "x=1 y=21")
		wantCommit(t, "c", c, 0)
		b.Set(key("x"), []byte("-11"))
		wantCommit(t, "b", b, kv.CodeNotCommitted)
	})
	t.Run("circular information flow", func(t *testing.T) {
		reset(t)
		a, b := begin(t, e), begin(t, e)
		a.Set(key("x"), []byte("a"))
		b.Set(key("y"), []byte("b"))
		wantValue(t, a, "y", "1")
		wantValue(t, b, "x", "1")
		wantCommit(t, "first", a, 0)
		wantCommit(t, "second", b, kv.CodeNotCommitted)
	})
	t.Run("stale read", func(t *testing.T) {
		// Strictness: a transaction sees every commit that was acknowledged before it began.
		for i := range 50 {
			want := string(rune('A' + i%26))
			put(t, e, "x="+want)
			wantStored(t, e, "x", want)
		}
	})
	t.Run("a conflict leaves nothing", func(t *testing.T) {
		reset(t)
		a := begin(t, e)
		wantValue(t, a, "x", "1")
		put(t, e, "x=2")
		a.Set(key("z1"), nil)
		a.ClearRange(keyRange("x", "z"))
		wantCommit(t, "conflict", a, kv.CodeNotCommitted)
		wantRows(t, begin(t, e), keyRange("x", "zz"), kv.RangeOptions{}, "x=2 y=1")
	})
}

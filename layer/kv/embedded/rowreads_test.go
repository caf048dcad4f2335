package embedded_test

import (
	"fmt"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// TestEngine_rows reads keys again after each way of changing them: the result must be the store's, not an outdated
// cached row.
func TestEngine_rows(t *testing.T) {
	e := mustOpen(t, t.TempDir(), embedded.Options{})
	commit := func(change func(tx kv.Transaction)) {
		t.Helper()
		if _, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
			change(tx)
			return struct{}{}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	get := func(key string) string {
		t.Helper()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		v, err := tx.Get([]byte(key)).Wait()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%q", v)
	}
	k := []byte("k")
	for _, c := range []struct {
		name   string
		change func(tx kv.Transaction)
		want   string
	}{
		{"set", func(tx kv.Transaction) { tx.Set(k, []byte("1")) }, `"1"`},
		{"append", func(tx kv.Transaction) { tx.Atomic(kv.AtomicAppendIfFits, k, []byte("2")) }, `"12"`},
		{"compare and clear", func(tx kv.Transaction) { tx.Atomic(kv.AtomicCompareAndClear, k, []byte("12")) }, `""`},
		{"set again", func(tx kv.Transaction) { tx.Set(k, []byte("3")) }, `"3"`},
		{"clear", func(tx kv.Transaction) { tx.Clear(k) }, `""`},
		{"set once more", func(tx kv.Transaction) { tx.Set(k, []byte("4")) }, `"4"`},
		{"clear a range", func(tx kv.Transaction) {
			tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")})
		}, `""`},
		{"set among many", func(tx kv.Transaction) {
			for i := range 200 {
				tx.Set([]byte{'k', byte(i)}, nil)
			}
			tx.Set(k, []byte("5"))
		}, `"5"`},
		{"clear a long range", func(tx kv.Transaction) {
			tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")})
		}, `""`},
		{"set in a cleared range", func(tx kv.Transaction) {
			tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")})
			tx.Set(k, []byte("6"))
		}, `"6"`},
		{"add", func(tx kv.Transaction) { tx.Atomic(kv.AtomicAdd, k, []byte{1}) }, `"7"`},
	} {
		old := e.Begin(t.Context())
		version, err := old.ReadVersion().Wait()
		if err != nil {
			t.Fatal(err)
		}
		before := get("k")
		commit(c.change)
		for range 3 {
			if got := get("k"); got != c.want {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		if v, err := old.Get(k).Wait(); err != nil || fmt.Sprintf("%q", v) != before {
			t.Errorf("%s: %q, %v at version %d, want %s", c.name, v, err, version, before)
		}
		old.Cancel()
	}
	commit(func(tx kv.Transaction) { tx.SetVersionstampedValue(k, make([]byte, 10), 0) })
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	version, err := tx.ReadVersion().Wait()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := tx.Get(k).Wait(); err != nil || len(v) != 10 || (kv.Versionstamp)(v).Version() != version {
		t.Errorf("%q, %v after a versionstamp at %d", v, err, version)
	}
}

package kvtest

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
)

func testPoints(t *testing.T, e kv.Engine) {
	if e.Name() == "" {
		t.Error("the engine has no name")
	}
	wantStored(t, e, "a", "<none>")
	c := put(t, e, "a=1", "b=", "\x00=zero", "=empty key")
	if c.Version < 0 || c.Attempts != 1 {
		t.Errorf("committed %+v", c)
	}
	wantStored(t, e, "a", "1")
	wantStored(t, e, "\x00", "zero")
	wantStored(t, e, "", "empty key")
	if v := must(t, begin(t, e).Get(key("b"))); v == nil || len(v) != 0 {
		t.Errorf("an empty value is %v, want empty and not nil", v)
	}
	update(t, e, func(tx kv.Transaction) { tx.Clear(key("a")); tx.Clear(key("never there")) })
	wantStored(t, e, "a", "<none>")

	put(t, e, "r1=1", "r2=2", "r3=3")
	update(t, e, func(tx kv.Transaction) { tx.ClearRange(keyRange("r1", "r3")) })
	wantRows(t, begin(t, e), keyRange("r", "s"), kv.RangeOptions{}, "r3=3")
	update(t, e, func(tx kv.Transaction) { tx.ClearRange(keyRange("r3", "r3")) })
	wantRows(t, begin(t, e), keyRange("r", "s"), kv.RangeOptions{}, "r3=3")

	// Many rows at once, cleared as one range: engines may treat large ranges differently.
	update(t, e, func(tx kv.Transaction) {
		for i := range 1000 {
			tx.Set([]byte{'m', byte(i >> 8), byte(i)}, []byte{1})
		}
	})
	update(t, e, func(tx kv.Transaction) {
		tx.ClearRange(kv.KeyRange{Begin: []byte{'m', 0, 1}, End: []byte{'m', 3, 231}})
		tx.Set([]byte{'m', 1, 1}, []byte("again"))
	})
	wantRows(t, begin(t, e), keyRange("m", "n"), kv.RangeOptions{}, "m\x00\x00=\x01 m\x01\x01=again m\x03\xe7=\x01")

	// Keys and values are copied when passed in, and belong to the caller when read.
	k, v := key("copy"), []byte("value")
	tx := begin(t, e)
	tx.Set(k, v)
	k[0], v[0] = 'X', 'X'
	wantCommit(t, "copy", tx, 0)
	wantStored(t, e, "copy", "value")
}

func testReadYourWrites(t *testing.T, e kv.Engine) {
	put(t, e, "a=1", "b=2", "c=3", "d=4")
	tx := begin(t, e)
	if tx.Wrote() {
		t.Error("Wrote before any write")
	}
	tx.Set(key("a"), []byte("new"))
	tx.Clear(key("b"))
	tx.Set(key("bb"), []byte("between"))
	wantValue(t, tx, "a", "new")
	wantValue(t, tx, "b", "<none>")
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{}, "a=new bb=between c=3 d=4")
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{Reverse: true}, "d=4 c=3 bb=between a=new")
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{Limit: 2}, "a=new bb=between")
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{Limit: 3, Reverse: true}, "d=4 c=3 bb=between")
	wantRows(t, tx.Snapshot(), keyRange("a", "z"), kv.RangeOptions{}, "a=new bb=between c=3 d=4")
	wantValue(t, tx.Snapshot(), "a", "new")

	tx.ClearRange(keyRange("b", "d"))
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{}, "a=new d=4")
	wantValue(t, tx, "c", "<none>")
	tx.Set(key("c"), []byte("back"))
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{}, "a=new c=back d=4")
	wantRows(t, tx, keyRange("a", "z"), kv.RangeOptions{Reverse: true}, "d=4 c=back a=new")
	wantRows(t, tx, keyRange("b", "d"), kv.RangeOptions{Reverse: true, Limit: 1}, "c=back")
	if got := string(must(t, tx.GetKey(kv.FirstGreaterThan(key("a"))))); got != "c" {
		t.Errorf("the key after a is %q, want c", got)
	}
	if got := string(must(t, tx.GetKey(kv.LastLessThan(key("c"))))); got != "a" {
		t.Errorf("the key before c is %q, want a", got)
	}
	if !tx.Wrote() {
		t.Error("not Wrote after writes")
	}

	// No other transaction sees any of the writes before the commit.
	wantRows(t, begin(t, e), keyRange("a", "z"), kv.RangeOptions{}, "a=1 b=2 c=3 d=4")
	wantCommit(t, "read your writes", tx, 0)
	wantRows(t, begin(t, e), keyRange("a", "z"), kv.RangeOptions{}, "a=new c=back d=4")

	// A transaction that reads first and then writes sees its own writes.
	tx = begin(t, e)
	wantValue(t, tx, "a", "new")
	tx.Clear(key("a"))
	wantValue(t, tx, "a", "<none>")
	tx.Set(key("a"), []byte{})
	wantValue(t, tx, "a", "")
}

func testShared(t *testing.T, e kv.Engine) {
	put(t, e, "a=1")
	tx := begin(t, e)
	done := make(chan error)
	const workers = 8
	for w := range workers {
		go func() {
			var err error
			for i := range 50 {
				k := []byte{'k', byte(w), byte(i)}
				tx.Set(k, k)
				var v []byte
				if v, err = tx.Get(k).Wait(); err == nil && string(v) != string(k) {
					t.Errorf("read %q after writing %q", v, k)
				}
				if _, err = collect(tx, keyRange("k", "l"), kv.RangeOptions{Limit: 20}); err != nil {
					break
				}
				tx.Atomic(kv.AtomicAdd, key("n"), []byte{1, 0, 0, 0})
			}
			done <- err
		}()
	}
	for range workers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	wantCommit(t, "shared", tx, 0)
	wantStored(t, e, "n", string([]byte{workers * 50 % 256, workers * 50 / 256, 0, 0}))
}

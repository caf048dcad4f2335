package kvtest

import (
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// testMetadataVersion tests the key that validates caches.
func testMetadataVersion(t *testing.T, e kv.Engine) {
	change := func() string {
		c := update(t, e, kv.ChangeMetadataVersion)
		return string(c.Versionstamp[:])
	}
	read := func(r kv.Reader) string { return show(must(t, kv.MetadataVersion(r))) }

	first := change()
	old := begin(t, e)
	if got := read(old.Snapshot()); got != first {
		t.Errorf("%x after a change at %x", got, first)
	}
	version := must(t, old.ReadVersion())
	put(t, e, "a=1")
	update(t, e, func(tx kv.Transaction) { tx.ClearRange(everything) })
	if got := read(begin(t, e)); got != first {
		t.Errorf("%x after writes of other keys, want %x", got, first)
	}
	snap, long, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	second := change()
	if got := read(begin(t, e).Snapshot()); got != second || second <= first {
		t.Errorf("%x after a change at %x", got, second)
	}
	if got := read(old); got != first {
		t.Errorf("%x at a version where it was %x", got, first)
	}
	at := begin(t, e)
	at.SetReadVersion(version)
	if got := read(at); got != first {
		t.Errorf("%x at a version that was set, where it was %x", got, first)
	}
	if long {
		if got := read(snap); got != first {
			t.Errorf("%x in a snapshot, where it was %x", got, first)
		}
		snap.Close()
	}
	wantRows(t, begin(t, e), everything, kv.RangeOptions{}, "")

	cached, strict, blind := begin(t, e), begin(t, e), begin(t, e)
	read(cached.Snapshot())
	read(strict)
	for i, tx := range []kv.Transaction{cached, strict, blind} {
		tx.Set(key("k"), []byte{byte(i)})
	}
	read(blind.Snapshot())
	kv.ChangeMetadataVersion(blind)
	change()
	wantCommit(t, "one that read it without a conflict", cached, 0)
	wantCommit(t, "one that read it with one", strict, kv.CodeNotCommitted)
	wantCommit(t, "one that changed it too", blind, 0)
	if stamp, err := blind.Versionstamp(); err != nil || read(begin(t, e)) != string(stamp[:]) {
		t.Errorf("not the stamp %x, %v, of the last change", stamp, err)
	}

	fails(t, begin(t, e).Get([]byte(kv.MetadataVersionKey+"x")), kv.CodeKeyOutsideRange)
	meta := []byte(kv.MetadataVersionKey)
	stamped := append(placeholder, "more"...)
	for _, c := range []struct {
		name string
		do   func(tx kv.Transaction)
		code kv.Code
	}{
		{"set", func(tx kv.Transaction) { tx.Set(meta, make([]byte, 10)) }, kv.CodeClientInvalid},
		{"clear", func(tx kv.Transaction) { tx.Clear(meta) }, kv.CodeKeyOutsideRange},
		{"atomic", func(tx kv.Transaction) { tx.Atomic(kv.AtomicMax, meta, make([]byte, 10)) }, kv.CodeClientInvalid},
		{"another stamped value", func(tx kv.Transaction) {
			tx.SetVersionstampedValue(meta, stamped, 0)
		}, kv.CodeClientInvalid},
		{"a key beside it", func(tx kv.Transaction) {
			tx.Set([]byte(kv.MetadataVersionKey+"x"), nil)
		}, kv.CodeKeyOutsideRange},
	} {
		tx := begin(t, e)
		c.do(tx)
		wantCommit(t, c.name, tx, c.code)
	}
}

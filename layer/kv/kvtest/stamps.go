package kvtest

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

var placeholder = repeat(0xff, 10)

func testVersionstamps(t *testing.T, e kv.Engine) {
	before := put(t, e, "x=1")
	c := update(t, e, func(tx kv.Transaction) {
		tx.SetVersionstampedKey(append(key("k/"), append(placeholder, "/end"...)...), 2, []byte("stamped key"))
		tx.SetVersionstampedKey(append(key("l/"), append(placeholder, 0, 7)...), 2, []byte("the other"))
		tx.SetVersionstampedValue(key("v"), append(key("ab"), append(placeholder, "cd"...)...), 2)
		tx.SetVersionstampedValue(key("whole"), make([]byte, 10), 0)
		tx.Set(key("plain"), []byte("1"))
	})
	stamp := string(c.Versionstamp[:])
	if c.Versionstamp.Version() != c.Version || c.Version <= before.Version {
		t.Errorf("stamp %x has version %d, the commit %d, the one before %d", stamp, c.Versionstamp.Version(),
			c.Version, before.Version)
	}
	wantRows(t, begin(t, e), keyRange("k", "m"), kv.RangeOptions{},
		"k/"+stamp+"/end=stamped key l/"+stamp+"\x00\x07=the other")
	wantStored(t, e, "v", "ab"+stamp+"cd")
	wantStored(t, e, "whole", stamp)
	wantStored(t, e, "plain", "1")

	tx := begin(t, e)
	must(t, tx.Get(key("x")))
	wantCommit(t, "read only", tx, 0)
	if v, err := tx.CommittedVersion(); err != nil || v != -1 {
		t.Errorf("a read-only transaction has version %d, %v, want -1", v, err)
	}
	if s, err := tx.Versionstamp(); err == nil {
		t.Errorf("a read-only transaction has stamp %x", s)
	}

	// Later writes to a key win over a stamped one, and the other way round.
	c = update(t, e, func(tx kv.Transaction) {
		tx.SetVersionstampedValue(key("a"), make([]byte, 10), 0)
		tx.Set(key("a"), []byte("set"))
		tx.Set(key("b"), []byte("set"))
		tx.SetVersionstampedValue(key("b"), make([]byte, 10), 0)
		tx.SetVersionstampedValue(key("c"), make([]byte, 10), 0)
		tx.Clear(key("c"))
		tx.SetVersionstampedValue(key("d"), make([]byte, 10), 0)
		tx.Atomic(kv.AtomicAppendIfFits, key("d"), []byte("more"))
	})
	wantStored(t, e, "a", "set")
	wantStored(t, e, "b", string(c.Versionstamp[:]))
	wantStored(t, e, "c", none)
	wantStored(t, e, "d", string(c.Versionstamp[:])+"more")

	// A range cleared before a stamped key was set does not affect it; one cleared afterwards does.
	stamped := func(prefix string) []byte { return append(key(prefix), placeholder...) }
	c = update(t, e, func(tx kv.Transaction) {
		tx.ClearRange(keyRange("p", "q"))
		tx.SetVersionstampedKey(stamped("p1"), 2, []byte("after"))
		tx.SetVersionstampedKey(stamped("s1"), 2, []byte("before"))
		tx.SetVersionstampedKey(stamped("t1"), 2, []byte("half"))
		tx.ClearRange(keyRange("s", "t"))
		tx.ClearRange(keyRange("t1\x00", "t1\xff")) // includes every stamp to come
		tx.SetVersionstampedKey(stamped("u1"), 2, []byte("kept"))
		tx.ClearRange(keyRange("u1\x80", "u2")) // includes none
	})
	wantRows(t, begin(t, e), keyRange("p", "v"), kv.RangeOptions{},
		fmt.Sprintf("p1%s=after u1%s=kept", c.Versionstamp[:], c.Versionstamp[:]))
}

func testUnreadable(t *testing.T, e kv.Engine) {
	stamped := func(prefix string) []byte { return append(key(prefix), placeholder...) }
	old := update(t, e, func(tx kv.Transaction) {
		tx.SetVersionstampedKey(stamped("k"), 1, []byte("old"))
		tx.Set(key("j"), []byte("1"))
		tx.Set(key("l"), []byte("2"))
	})
	put(t, e, "w=1") // an entry of the read version itself could be this transaction's
	write := func() kv.Transaction {
		tx := begin(t, e)
		must(t, tx.ReadVersion())
		tx.SetVersionstampedKey(stamped("k"), 1, []byte("new"))
		tx.SetVersionstampedValue(key("v"), make([]byte, 10), 0)
		return tx
	}
	tx := write() // its commit may fail as its reads did
	fails(t, tx.Get(key("v")), kv.CodeAccessedUnreadable)
	fails(t, tx.Snapshot().Get(key("v")), kv.CodeAccessedUnreadable)
	_, err := collect(tx, keyRange("j", "m"), kv.RangeOptions{})
	isCode(t, "a range over a stamped key", err, kv.CodeAccessedUnreadable)
	_, err = collect(tx, keyRange("j", "m"), kv.RangeOptions{Reverse: true})
	isCode(t, "a reverse range over a stamped key", err, kv.CodeAccessedUnreadable)
	_, err = collect(tx, keyRange("u", "w"), kv.RangeOptions{})
	isCode(t, "a range over a stamped value", err, kv.CodeAccessedUnreadable)
	fails(t, tx.GetKey(kv.FirstGreaterThan(append(key("k"), old.Versionstamp[:]...))), kv.CodeAccessedUnreadable)

	// Rows before the stamped keys are readable, also stamped entries of earlier versions.
	tx = write()
	wantRows(t, tx, keyRange("j", "m"), kv.RangeOptions{Limit: 2}, "j=1 k"+string(old.Versionstamp[:])+"=old")
	wantRows(t, tx, keyRange("j", "m"), kv.RangeOptions{Limit: 1, Reverse: true}, "l=2")
	wantValue(t, tx, "k"+string(old.Versionstamp[:]), "old")
	wantValue(t, tx, "j", "1")
	wantRows(t, tx, keyRange("l", "m"), kv.RangeOptions{}, "l=2")
	wantCommit(t, "unreadable", tx, 0)
	// A stamp may hold any byte.
	if got, err := collect(begin(t, e), keyRange("k", "l"), kv.RangeOptions{}); err != nil ||
		strings.Count(got, "=old") != 1 || strings.Count(got, "=new") != 1 {
		t.Errorf("%q, %v, want two rows", got, err)
	}
}

// testStampOrder checks that stamps are unique, and that a commit that began after another had ended has the higher
// stamp.
func testStampOrder(t *testing.T, e kv.Engine) {
	const workers, rounds = 8, 25
	var mu sync.Mutex
	var stamps []string
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			last := kv.Versionstamp{}
			for range rounds {
				tx := e.Begin(t.Context())
				tx.SetVersionstampedKey(append(key("k"), append(placeholder, byte(w))...), 1, nil)
				if err := tx.Commit(); err != nil {
					t.Error(err)
					return
				}
				stamp, err := tx.Versionstamp()
				if err != nil || bytes.Compare(stamp[:], last[:]) <= 0 {
					t.Errorf("stamp %x after %x, %v", stamp, last, err)
				}
				last = stamp
				mu.Lock()
				stamps = append(stamps, string(stamp[:]))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	sort.Strings(stamps)
	for i := 1; i < len(stamps); i++ {
		if stamps[i] == stamps[i-1] {
			t.Errorf("two commits have the stamp %x", stamps[i])
		}
	}
	it := begin(t, e).GetRange(keyRange("k", "l"), kv.RangeOptions{})
	defer it.Close()
	for i := 0; it.Next(); i++ {
		if got := string(it.KeyValue().Key[1:11]); i >= len(stamps) || got != stamps[i] {
			t.Fatalf("row %d has stamp %x", i, got)
		}
	}
}

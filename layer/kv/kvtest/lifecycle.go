package kvtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
)

func testReadVersions(t *testing.T, e kv.Engine) {
	c := put(t, e, "a=1")
	tx := begin(t, e)
	v := must(t, tx.ReadVersion())
	if v < c.Version {
		t.Errorf("read version %d after a commit at %d", v, c.Version)
	}
	second := put(t, e, "a=2")
	if second.Version <= v {
		t.Errorf("a commit at %d after read version %d was handed out", second.Version, v)
	}
	if again := must(t, tx.ReadVersion()); again != v {
		t.Errorf("the read version went from %d to %d", v, again)
	}
	wantValue(t, tx, "a", "1")

	risky := begin(t, e) // no machine fails in this test, so the version must be the newest
	risky.CausalReadRisky()
	if got := must(t, risky.ReadVersion()); got < second.Version {
		t.Errorf("CausalReadRisky read version %d after a commit at %d", got, second.Version)
	}
	wantValue(t, risky, "a", "2")

	// Another transaction can set the version of a transaction that is still open, and the newest version.
	past := begin(t, e)
	past.SetReadVersion(v)
	wantValue(t, past, "a", "1")
	if got := must(t, past.ReadVersion()); got != v {
		t.Errorf("read version %d, set to %d", got, v)
	}
	past.Set(key("b"), nil)
	wantCommit(t, "at a set read version that was overwritten", past, kv.CodeNotCommitted)
	now := begin(t, e)
	now.SetReadVersion(second.Version)
	wantValue(t, now, "a", "2")
	now.Set(key("b"), nil)
	wantCommit(t, "at a set read version", now, 0)

	late := begin(t, e)
	wantValue(t, late, "a", "2")
	late.SetReadVersion(v)
	if _, err := late.Get(key("a")).Wait(); err == nil {
		t.Error("a read version was set after a read")
	}
	old := begin(t, e)
	old.SetReadVersion(1)
	fails(t, old.Get(key("a")), kv.CodeTooOld)
	future := e.Begin(t.Context())
	defer future.Cancel()
	future.SetReadVersion(1 << 62)
	fails(t, future.Get(key("a")), kv.CodeFutureVersion)
}

func testEndings(t *testing.T, e kv.Engine) {
	put(t, e, "a=1", "b=2")
	tx := begin(t, e)
	open := tx.GetRange(everything, kv.RangeOptions{})
	tx.Set(key("a"), []byte("never"))
	tx.Cancel()
	tx.Cancel()
	fails(t, tx.Get(key("a")), kv.CodeCancelled)
	fails(t, tx.GetKey(kv.FirstGreaterThan(nil)), kv.CodeCancelled)
	fails(t, tx.ReadVersion(), kv.CodeCancelled)
	isCode(t, "a range of a cancelled transaction", scan(tx, everything, kv.RangeOptions{}), kv.CodeCancelled)
	_, err := drain(open)
	isCode(t, "a range that was open", err, kv.CodeCancelled)
	wantCommit(t, "cancelled", tx, kv.CodeCancelled)
	if !errors.Is(tx.Commit(), context.Canceled) {
		t.Error("a cancelled transaction's error is not context.Canceled")
	}
	wantStored(t, e, "a", "1")

	tx = begin(t, e)
	if _, err := tx.CommittedVersion(); err == nil {
		t.Error("a committed version before the commit")
	}
	if _, err := tx.Versionstamp(); err == nil {
		t.Error("a versionstamp before the commit")
	}
	value := tx.Get(key("a"))
	tx.Set(key("a"), []byte("2"))
	wantCommit(t, "first", tx, 0)
	wantCommit(t, "second commit of one transaction", tx, kv.CodeUsedDuringCommit)
	fails(t, tx.Get(key("a")), kv.CodeUsedDuringCommit)
	if got := must(t, value); string(got) != "1" {
		t.Errorf("a value read before the commit is %q after it", got)
	}
	if v, err := tx.CommittedVersion(); err != nil || v < 0 {
		t.Errorf("committed version %d, %v", v, err)
	}
	tx.Cancel()
	if v, err := tx.CommittedVersion(); err != nil || v < 0 {
		t.Errorf("committed version %d, %v after Cancel", v, err)
	}
	wantStored(t, e, "a", "2")

	tx = begin(t, e)
	tx.Set(key("c"), []byte("late"))
	wantCommit(t, "to be written after", tx, 0)
	tx.Set(key("c"), []byte("too late"))
	wantStored(t, e, "c", "late")

	tx = begin(t, e)
	wantCommit(t, "empty", tx, 0)
}

func testContext(t *testing.T, e kv.Engine) {
	put(t, e, "a=1")
	ctx, cancel := context.WithCancel(t.Context())
	tx := e.Begin(ctx)
	defer tx.Cancel()
	wantValue(t, tx, "a", "1")
	cancel()
	eventually(t, "reads fail after their context was cancelled", func() bool {
		_, err := tx.Get(key("a")).Wait()
		return kv.IsCode(err, kv.CodeCancelled) && errors.Is(err, context.Canceled)
	})
	isCode(t, "a range after cancel", scan(tx, everything, kv.RangeOptions{}), kv.CodeCancelled)
	tx.Set(key("a"), []byte("2"))
	wantCommit(t, "after cancel", tx, kv.CodeCancelled)

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	tx = e.Begin(ctx)
	defer tx.Cancel()
	// On a slow machine the deadline passes before the first read.
	v, err := tx.Get(key("a")).Wait()
	if err == nil && string(v) != "1" || err != nil && !kv.IsCode(err, kv.CodeTimedOut) {
		t.Errorf("before the deadline: %q, %v", v, err)
	}
	<-ctx.Done()
	eventually(t, "reads fail after their deadline", func() bool {
		_, err := tx.Get(key("a")).Wait()
		return kv.IsCode(err, kv.CodeTimedOut) && errors.Is(err, context.DeadlineExceeded)
	})
	tx.Set(key("a"), []byte("2"))
	wantCommit(t, "after the deadline", tx, kv.CodeTimedOut)
	wantStored(t, e, "a", "1")
}

// eventually waits for something that an engine may do a little later.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	// An engine may hold a version for as long as transactions live, starting when it is no longer the newest.
	const patience = 4 * kv.TransactionSeconds * time.Second
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("still not true after %v: %s", patience, what)
}

func testSnapshots(t *testing.T, e kv.Engine) {
	c := put(t, e, "a=1", "b=2", "d=4")
	s, ok, err := kv.OpenSnapshot(t.Context(), e)
	if !ok && err == nil {
		t.Skip("the engine has no long snapshots")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Version() < c.Version || must(t, s.ReadVersion()) != s.Version() {
		t.Errorf("version %d after a commit at %d", s.Version(), c.Version)
	}
	for i := range 20 {
		update(t, e, func(tx kv.Transaction) {
			tx.Set(key("a"), []byte{byte(i)})
			tx.Clear(key("b"))
			tx.Set(key("c"), nil)
		})
	}
	wantValue(t, s, "a", "1")
	wantValue(t, s, "c", none)
	wantRows(t, s, everything, kv.RangeOptions{}, "a=1 b=2 d=4")
	wantRows(t, s, everything, kv.RangeOptions{Reverse: true, Limit: 2}, "d=4 b=2")
	wantRows(t, s, kv.SelectorRange{Begin: kv.LastLessThan(key("b")), End: kv.FirstGreaterThan(key("b"))},
		kv.RangeOptions{}, "a=1 b=2")
	if got := string(must(t, s.GetKey(kv.FirstGreaterThan(key("b"))))); got != "d" {
		t.Errorf("the key after b is %q", got)
	}
	fails(t, s.Get([]byte{0xff}), kv.CodeKeyOutsideRange)
	it := s.GetRange(everything, kv.RangeOptions{})
	s.Close()
	s.Close()
	fails(t, s.Get(key("a")), kv.CodeCancelled)
	it.Close()

	ctx, cancel := context.WithCancel(t.Context())
	s, _, err = kv.OpenSnapshot(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	eventually(t, "a snapshot's reads fail after its context was cancelled", func() bool {
		_, err := s.Get(key("a")).Wait()
		return kv.IsCode(err, kv.CodeCancelled)
	})
}

// testTimeLimit takes a little more than kv.TransactionSeconds. Reads past the limit must fail eventually, with the
// right error; a commit must fail at once.
func testTimeLimit(t *testing.T, e kv.Engine) {
	put(t, e, "a=1", "b=2")
	idle, reader, writer, blind := begin(t, e), begin(t, e), begin(t, e), begin(t, e)
	for _, tx := range []kv.Transaction{reader, writer} {
		wantValue(t, tx, "a", "1")
	}
	version := must(t, reader.ReadVersion())
	writer.Set(key("w"), nil)
	blind.Set(key("c"), []byte("blind"))
	put(t, e, "b=3") // a snapshot must not keep the version above readable
	snap, long, err := kv.OpenSnapshot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	put(t, e, "b=3.5")
	pinned, held := mustPin(t, plain{e}), mustPin(t, e)
	time.Sleep(kv.TransactionSeconds*time.Second + 500*time.Millisecond)
	put(t, e, "b=4")

	wantCommit(t, "past the limit", writer, kv.CodeTooOld)
	wantValue(t, idle, "b", "4") // its time began with its first read
	wantCommit(t, "a transaction that read nothing", blind, 0)
	wantStored(t, e, "c", "blind")
	wantStored(t, e, "w", none)
	if long {
		wantValue(t, snap, "b", "3")
		wantValue(t, begin(t, held), "b", "3.5")
		snap.Close()
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "a new transaction at an old version fails", func() bool {
		put(t, e, "d=1") // time moves with commits
		at := begin(t, e)
		at.SetReadVersion(version)
		v, err := at.Get(key("b")).Wait()
		if err == nil && string(v) != "2" {
			t.Errorf("b is %q at a version where it was 2", v)
		}
		return kv.IsCode(err, kv.CodeTooOld) && kv.Retryable(err)
	})
	fails(t, reader.GetKey(kv.FirstGreaterThan(key("b"))), kv.CodeTooOld)
	isCode(t, "a range past the limit", scan(reader, everything, kv.RangeOptions{}), kv.CodeTooOld)
	fails(t, reader.Snapshot().Get(key("b")), kv.CodeTooOld)
	fails(t, reader.Get(key("b")), kv.CodeTooOld)
	eventually(t, "a version is held for as long as transactions live", func() bool {
		put(t, e, "d=1")
		at := pinned.Begin(t.Context())
		defer at.Cancel() // an engine may hold versions of open transactions
		_, err := at.Get(key("b")).Wait()
		return errors.Is(err, kv.ErrSnapshotLost)
	})
	wantLost(t, pinned)
}

package remote_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/remote"
)

// mustOpenSlow opens an engine through a proxy that counts what it sends. It sends no pings meanwhile.
func mustOpenSlow(tb testing.TB, served kv.Engine) (*remote.Engine, *proxy) {
	tb.Helper()
	p := mustProxy(tb, mustServe(tb, served).Addr().String())
	e, err := remote.Open(tb.Context(), p.addr(),
		remote.Options{Secret: secret, Logger: quiet(tb)}.WithPing(time.Hour))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	works := func() bool { // the server has told its abilities
		tx := e.Begin(tb.Context())
		defer tx.Cancel()
		if _, err := tx.Get([]byte("works")).Wait(); err != nil {
			tb.Fatal(err)
		}
		_, ok := tx.(kv.FollowingReader).GetFollowing([]byte("a"), nil, nil)
		return ok
	}
	for !works() {
		time.Sleep(time.Millisecond)
	}
	return e, p
}

func TestTransaction_GetFollowing(t *testing.T) {
	e, p := mustOpenSlow(t, mustEmbed(t))
	_, _, err := kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set([]byte("winner/a"), []byte("2-b"))
		tx.Set([]byte("body/a/2-b/0"), []byte("text"))
		tx.Set([]byte("winner/empty"), []byte(""))
		tx.Set([]byte("body//0"), []byte(""))
		tx.Set([]byte("winner/astray"), []byte("3-c"))
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	type want struct {
		key, prefix, value, next string
		nothing, noNext          bool
	}
	check := func(r kv.Reader, w want) {
		t.Helper()
		f, ok := r.(kv.FollowingReader).GetFollowing([]byte("winner/"+w.key), []byte(w.prefix), []byte("/0"))
		if !ok {
			t.Fatal("the reader cannot follow")
		}
		got, err := f.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Value) != w.value || string(got.Next) != w.next || (got.Value == nil) != w.nothing ||
			(got.Next == nil) != w.noNext {
			t.Errorf("%s leads to %q and %q, want %+v", w.key, got.Value, got.Next, w)
		}
	}
	snapshot, err := e.OpenSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	for _, r := range []kv.Reader{tx, tx.Snapshot(), snapshot} {
		before := p.sent()
		check(r, want{key: "a", prefix: "body/a/", value: "2-b", next: "text"})
		if n := p.sent() - before; n != 1 {
			t.Errorf("it sent %d pieces", n)
		}
		check(r, want{key: "empty", prefix: "body/"})
		check(r, want{key: "astray", prefix: "body/", value: "3-c", noNext: true})
		check(r, want{key: "missing", prefix: "body/", nothing: true, noNext: true})
	}
	tx.Set([]byte("winner/a"), []byte("3-c"))
	tx.Set([]byte("body/a/3-c/0"), []byte("newer"))
	check(tx, want{key: "a", prefix: "body/a/", value: "3-c", next: "newer"})
	check(snapshot, want{key: "a", prefix: "body/a/", value: "2-b", next: "text"})

	// Both keys are in the read set.
	other := e.Begin(t.Context())
	defer other.Cancel()
	f, _ := other.(kv.FollowingReader).GetFollowing([]byte("winner/a"), []byte("body/a/"), []byte("/0"))
	if _, err := f.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	other.Set([]byte("written"), nil)
	if err := other.Commit(); !kv.IsCode(err, kv.CodeNotCommitted) {
		t.Errorf("a transaction that had read what was overwritten: %v", err)
	}
}

// A snapshot that is begun is open by the time of its first answer, which takes one round trip.
func TestEngine_BeginSnapshot(t *testing.T) {
	e, p := mustOpenSlow(t, mustEmbed(t))
	works(t, e)
	before := p.sent()
	s, ok, err := kv.BeginSnapshot(t.Context(), e)
	if err != nil || !ok {
		t.Fatalf("begin: %v, %v", ok, err)
	}
	defer s.Close()
	if v, err := s.Get([]byte("works")).Wait(); err != nil || string(v) != "1" {
		t.Errorf("read: %q, %v", v, err)
	}
	if n := p.sent() - before; n != 1 {
		t.Errorf("opening and the first read sent %d pieces", n)
	}
	read, err := s.ReadVersion().Wait()
	if err != nil || s.Version() != read || read == 0 {
		t.Errorf("version %d, reads at %d, %v", s.Version(), read, err)
	}
	_, _, err = kv.Transact(t.Context(), e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.Set([]byte("works"), []byte("2"))
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get([]byte("works")).Wait(); err != nil || string(v) != "1" {
		t.Errorf("read after a write: %q, %v", v, err)
	}
}

// noSnapshots is an engine that opens no snapshots.
type noSnapshots struct{ kv.Engine }

var errNoSnapshots = kv.NewError(kv.CodeIOError, "no snapshots today", nil)

func (noSnapshots) OpenSnapshot(context.Context) (kv.Snapshot, error) { return nil, errNoSnapshots }

// The reads of a snapshot that cannot be opened say why.
func TestEngine_BeginSnapshot_fails(t *testing.T) {
	e, _ := mustOpenSlow(t, noSnapshots{mustEmbed(t)})
	if _, err := e.OpenSnapshot(t.Context()); !kv.IsCode(err, kv.CodeIOError) {
		t.Errorf("open: %v", err)
	}
	s, _, err := kv.BeginSnapshot(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	get, rows := s.Get([]byte("a")), s.GetRange(kv.KeyRange{Begin: []byte("a"), End: []byte("b")}, kv.RangeOptions{})
	if _, err := get.Wait(); !kv.IsCode(err, kv.CodeIOError) {
		t.Errorf("read: %v", err)
	}
	if rows.Next() || !kv.IsCode(rows.Err(), kv.CodeIOError) {
		t.Errorf("range: %v", rows.Err())
	}
	rows.Close()
	if v := s.Version(); v != 0 {
		t.Errorf("version %d", v)
	}
	s.Close()
	if _, err := s.Get([]byte("a")).Wait(); !kv.IsCode(err, kv.CodeCancelled) || errors.Is(err, errNoSnapshots) {
		t.Errorf("read of the closed snapshot: %v", err)
	}
	works(t, e)
}

package kvtest

import (
	"errors"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// plain hides the optional abilities of an engine.
type plain struct{ kv.Engine }

// testPinned tests kv.Pin with a snapshot, if the engine holds them, and with a version that transactions set.
func testPinned(t *testing.T, e kv.Engine) {
	for _, of := range []struct {
		name string
		e    kv.Engine
	}{{"snapshots", e}, {"versions", plain{e}}} {
		t.Run(of.name, func(t *testing.T) {
			update(t, e, func(tx kv.Transaction) { tx.ClearRange(everything) })
			put(t, e, "a=1", "b=2")
			p := mustPin(t, of.e)
			before := begin(t, p)
			snap, ok, err := kv.OpenSnapshot(t.Context(), p)
			if !ok || err != nil {
				t.Fatalf("a pinned engine opens no snapshot: %v, %v", ok, err)
			}
			defer snap.Close()
			update(t, e, func(tx kv.Transaction) {
				tx.Set(key("a"), []byte("3"))
				tx.Clear(key("b"))
				tx.Set(key("c"), nil)
			})
			for name, r := range map[string]kv.Reader{"before": before, "after": begin(t, p), "a snapshot": snap,
				"its snapshot": begin(t, p).Snapshot(), "moving": begin(t, p.Moving())} {
				wantValue(t, r, "a", "1")
				wantRows(t, r, everything, kv.RangeOptions{}, "a=1 b=2")
				if got := string(must(t, r.GetKey(kv.FirstGreaterThan(key("b"))))); got != "\xff" {
					t.Errorf("%s: the key after b is %q", name, got)
				}
				if rows, ok := kv.GetRanges(r, []kv.KeyRange{keyRange("a", "b"), keyRange("c", "z")}); ok {
					if got, err := drain(rows); err != nil || got != "a=1" {
						t.Errorf("%s: GetRanges gave %q, %v", name, got, err)
					}
				}
				if v := must(t, r.ReadVersion()); v != snap.Version() {
					t.Errorf("%s: read version %d, not %d", name, v, snap.Version())
				}
			}
			_, together := begin(t, of.e).Snapshot().(kv.RangesReader)
			if _, passed := begin(t, p).Snapshot().(kv.RangesReader); passed != together {
				t.Errorf("a pinned engine has GetRanges: %t, and its engine: %t", passed, together)
			}
			closed := begin(t, p).Snapshot()
			tx := begin(t, p)
			tx.Set(key("d"), nil)
			wantCommit(t, "a write to a pinned engine", tx, kv.CodeClientInvalid)
			wantCommit(t, "a pinned engine, read only", begin(t, p), 0)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			fails(t, before.Get(key("a")), kv.CodeCancelled)
			fails(t, begin(t, p).Get(key("a")), kv.CodeCancelled)
			if rows, ok := kv.GetRanges(closed, []kv.KeyRange{everything}); ok {
				_, err := drain(rows)
				isCode(t, "ranges of a closed one", err, kv.CodeCancelled)
			}
			isCode(t, "a range of a closed one", scan(begin(t, p), everything, kv.RangeOptions{}), kv.CodeCancelled)
		})
	}
}

func mustPin(t *testing.T, e kv.Engine) *kv.Pinned {
	t.Helper()
	p, err := kv.Pin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// wantLost checks reads at a version that the engine no longer holds, at which b was 2; b is now 4.
func wantLost(t *testing.T, p *kv.Pinned) {
	t.Helper()
	_, err := begin(t, p).Get(key("b")).Wait()
	snap, _, _ := kv.OpenSnapshot(t.Context(), p)
	defer snap.Close()
	for what, err := range map[string]error{"a key": err, "a range": scan(begin(t, p), everything, kv.RangeOptions{}),
		"a range of a snapshot": scan(snap, everything, kv.RangeOptions{})} {
		if !errors.Is(err, kv.ErrSnapshotLost) || kv.Retryable(err) {
			t.Errorf("%s at a lost version: %v", what, err)
		}
	}
	moving := p.Moving()
	if _, ok, _ := kv.OpenSnapshot(t.Context(), moving); ok {
		t.Error("a moving engine opens snapshots")
	}
	got, _, err := kv.Transact(t.Context(), moving, kv.TransactOptions{}, func(tx kv.Transaction) ([]byte, error) {
		return tx.Get(key("b")).Wait()
	})
	if err != nil || string(got) != "4" {
		t.Errorf("a moving engine reads %q, %v", got, err)
	}
}

package kvtest_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/kv/kvtest"
)

// broken is an engine with one defect in its transactions.
type broken struct {
	kv.Engine
	wrong func(e kv.Engine, tx kv.Transaction) kv.Transaction
}

func (b broken) Begin(ctx context.Context) kv.Transaction {
	return b.wrong(b.Engine, b.Engine.Begin(ctx))
}

// unguarded adds no read conflicts: snapshot isolation.
type unguarded struct{ kv.Transaction }

func (u unguarded) Get(key []byte) kv.Future[[]byte]            { return u.Snapshot().Get(key) }
func (u unguarded) GetKey(sel kv.KeySelector) kv.Future[[]byte] { return u.Snapshot().GetKey(sel) }
func (u unguarded) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return u.Snapshot().GetRange(r, o)
}

// pointsOnly adds no conflicts for ranges: phantoms.
type pointsOnly struct{ kv.Transaction }

func (p pointsOnly) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	return p.Snapshot().GetRange(r, o)
}

// forgetful acknowledges some commits without making them.
type forgetful struct {
	kv.Transaction
	lost bool
}

func (f *forgetful) Commit() error {
	if f.lost = f.Wrote() && lucky.Add(1)%50 == 0; f.lost {
		return nil
	}
	return f.Transaction.Commit()
}

func (f *forgetful) Versionstamp() (kv.Versionstamp, error) {
	if f.lost {
		return kv.Versionstamp{}, nil
	}
	return f.Transaction.Versionstamp()
}

var lucky atomic.Int64

// misdated has versionstamps that differ from the order of commits.
type misdated struct{ kv.Transaction }

func (m misdated) SetVersionstampedValue(key, value []byte, offset int) {
	stamp := kv.Versionstamp{9: byte(len(key)), 8: key[len(key)-1], 7: key[len(key)-2]}
	copy(value[offset:], stamp[:])
	m.Set(key, value)
}

// dull loses one kind of write.
type dull struct{ kv.Transaction }

func (d dull) ClearRange(kv.KeyRange) {}

// TestLoad_Check checks that Check detects each kind of broken engine.
func TestLoad_Check(t *testing.T) {
	for name, wrong := range map[string]func(e kv.Engine, tx kv.Transaction) kv.Transaction{
		"nothing":            nil,
		"snapshot isolation": func(_ kv.Engine, tx kv.Transaction) kv.Transaction { return unguarded{tx} },
		"phantoms":           func(_ kv.Engine, tx kv.Transaction) kv.Transaction { return pointsOnly{tx} },
		"lost commits": func(_ kv.Engine, tx kv.Transaction) kv.Transaction {
			return &forgetful{Transaction: tx}
		},
		"stamps in another order":  func(_ kv.Engine, tx kv.Transaction) kv.Transaction { return misdated{tx} },
		"cleared ranges that stay": func(_ kv.Engine, tx kv.Transaction) kv.Transaction { return dull{tx} },
		"old read versions":        stale(),
	} {
		t.Run(name, func(t *testing.T) {
			e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = e.Close() })
			var under kv.Engine = e
			if wrong != nil {
				under = broken{e, wrong}
			}
			err = kvtest.Load{Seed: 1, Rounds: 300}.Check(t.Context(), under)
			if wrong == nil && err != nil {
				t.Error(err)
			}
			if wrong != nil && err == nil {
				t.Error("not found")
			}
			t.Log(err)
		})
	}
}

// stale makes every other transaction read at a version that was the newest a moment ago.
func stale() func(e kv.Engine, tx kv.Transaction) kv.Transaction {
	var n, past atomic.Int64
	return func(e kv.Engine, tx kv.Transaction) kv.Transaction {
		if n.Add(1)%20 == 1 {
			holder := e.Begin(context.Background()) // never ended: keeps the version readable
			v, err := holder.ReadVersion().Wait()
			if err != nil {
				panic(err)
			}
			past.Store(v)
		}
		if v := past.Load(); v > 0 && n.Load()%2 == 0 {
			tx.SetReadVersion(v)
		}
		return tx
	}
}

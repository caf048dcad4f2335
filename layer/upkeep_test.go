package layer_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
	"github.com/divandb/divan/layer/tuple"
)

// stuckReads is an engine on which, once enabled, range reads of databases block until their transaction is cancelled.
type stuckReads struct {
	kv.Engine
	stuck atomic.Bool
}

type stuckTransaction struct {
	kv.Transaction
	ctx context.Context
	e   *stuckReads
}

type stuckReader struct {
	kv.Reader
	t stuckTransaction
}

func (e *stuckReads) Begin(ctx context.Context) kv.Transaction {
	return stuckTransaction{e.Engine.Begin(ctx), ctx, e}
}

func (t stuckTransaction) Snapshot() kv.Reader { return stuckReader{t.Transaction.Snapshot(), t} }

func (r stuckReader) GetRange(in kv.Range, o kv.RangeOptions) kv.RangeIterator {
	keys, ok := in.(kv.KeyRange)
	if ok && r.t.e.stuck.Load() && bytes.HasPrefix(keys.Begin, tuple.AppendInt(nil, int64(keyspace.Data))) {
		<-r.t.ctx.Done()
	}
	return r.Reader.GetRange(in, o)
}

// One kind of upkeep that is stuck does not keep others from their work.
func TestStore_upkeepIsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		engine := &stuckReads{Engine: e}
		open := func() *layer.Store {
			t.Helper()
			s, err := layer.Open(t.Context(), engine, layer.Options{Owner: true})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		if _, err := s.Create(t.Context(), "a", layer.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		enqueue(t, s, "done")
		if err := s.Finish(t.Context(), claim(t, s, time.Hour), nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		// The owner of a store begins with uploads from before its start, which it looks for in every database.
		engine.stuck.Store(true)
		s = open()
		defer s.Close()
		time.Sleep(20 * time.Minute)
		for j, err := range s.Jobs(t.Context()) {
			t.Errorf("job %+v, %v is there 20 minutes after it has finished", j, err)
		}
		stuck := map[string]bool{"uploads_before_start": true, "left_uploads": true}
		for _, m := range s.Upkeep() {
			if (m.Running > 0) != stuck[m.Kind] || (m.Runs == 0) != stuck[m.Kind] {
				t.Errorf("%+v", m)
			}
			delete(stuck, m.Kind)
		}
		if len(stuck) > 0 {
			t.Errorf("no metrics of %v", stuck)
		}
	})
}

// Every kind of upkeep is listed for operators, who see its name in metrics.
func TestStore_upkeepIsListed(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		e, err := embedded.Open(t.TempDir(), embedded.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		o := layer.Options{Owner: true}
		o.Compaction.Auto = true
		s, err := layer.Open(t.Context(), e, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		synctest.Wait() // each kind is added by its goroutine
		kinds := s.Upkeep()
		if len(kinds) < 10 {
			t.Errorf("%d kinds of upkeep: these are not all", len(kinds))
		}
		for _, m := range kinds {
			if !strings.Contains(string(page), "`"+m.Kind+"`") {
				t.Errorf("docs/operations.md does not list the upkeep %s", m.Kind)
			}
		}
	})
}

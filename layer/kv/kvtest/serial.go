package kvtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/divandb/divan/layer/kv"
)

// Load runs random concurrent transactions and checks that together they were strictly serialisable. The witness is
// the engine's own order: with the committed transactions sorted by versionstamp, every read must match that order,
// and the order must agree with real time. If such an order exists, the history is strictly serialisable by
// definition, so no search is needed; and an engine whose versionstamps are not the order is faulty too.
type Load struct {
	Seed    uint64
	Workers int // default 8
	Rounds  int // transactions per worker, default 150
}

// Check runs the load on an engine, which may inject faults, and returns the first violation. It erases the store
// first.
func (l Load) Check(ctx context.Context, e kv.Engine) error {
	if l.Workers == 0 {
		l.Workers = 8
	}
	if l.Rounds == 0 {
		l.Rounds = 150
	}
	h := &history{}
	initial, err := h.prepare(ctx, e)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, l.Workers)
	for w := range l.Workers {
		wg.Go(func() {
			c := chooser{rand.New(rand.NewPCG(l.Seed, uint64(w)))}
			for i := range l.Rounds {
				if errs[w] = h.transaction(ctx, e, c, fmt.Sprintf("id/%d/%d", w, i)); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return h.verify(ctx, e, initial)
}

func testSerialisable(t *testing.T, e kv.Engine) {
	s := seed(t)
	if err := (Load{Seed: s, Rounds: 150 * effort()}).Check(t.Context(), e); err != nil {
		t.Errorf("seed %d: %v", s, err)
	}
}

// record is what one transaction did and saw.
type record struct {
	id          string // the key that holds its versionstamp, if it committed
	start, end  int64  // times of the history's clock
	readVersion int64  // -1 if it read nothing
	steps       []step
	outcome     outcome
	stamp       kv.Versionstamp
}

type outcome int

const (
	failed outcome = iota
	readOnly
	committed
	unknown
)

// step is a read and its result, or a mutation.
type step struct {
	name     string
	snapshot bool
	read     func(state) string
	got      string
	answered bool // false for a read of a transaction that had failed before
	mutation mutation
}

// history collects the records. Its clock orders a transaction that ended before another began.
type history struct {
	clock atomic.Int64
	mu    struct {
		sync.Mutex
		records []*record
	}
}

// fence are keys above all others that transactions change, and that no transaction changes itself: no selector walks
// past them to the ids.
var fence = []string{"d0", "d1", "d2", "d3", "d4"}

func (h *history) prepare(ctx context.Context, e kv.Engine) (state, error) {
	initial := state{}
	_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		tx.ClearRange(everything)
		for _, k := range fence {
			tx.Set(key(k), nil)
			initial[k] = ""
		}
		return struct{}{}, nil
	})
	return initial, err
}

// transaction runs one random transaction and records it. It returns only errors that no transaction may meet.
func (h *history) transaction(ctx context.Context, e kv.Engine, c chooser, id string) error {
	r := &record{id: id, start: h.clock.Add(1), readVersion: -1}
	tx := e.Begin(ctx)
	defer tx.Cancel()
	err := r.run(tx, c)
	writes := false
	if err == nil {
		if writes = tx.Wrote(); writes {
			tx.SetVersionstampedValue(key(id), make([]byte, 10), 0)
		}
		if c.IntN(10) == 0 {
			tx.Cancel()
		}
		err = tx.Commit()
	}
	switch {
	case err == nil && writes:
		r.outcome = committed
		if r.stamp, err = tx.Versionstamp(); err != nil {
			return fmt.Errorf("after a commit: %w", err)
		}
	case err == nil:
		r.outcome = readOnly
	case kv.MaybeCommitted(err):
		r.outcome = unknown
	case kv.Retryable(err) || kv.IsCode(err, kv.CodeCancelled) && ctx.Err() == nil:
	default:
		return fmt.Errorf("%s: %w", id, err)
	}
	r.end = h.clock.Add(1)
	h.mu.Lock()
	h.mu.records = append(h.mu.records, r)
	h.mu.Unlock()
	return nil
}

// run makes the calls of one transaction. Some transactions write without reading, some read without conflicts, some
// issue all reads before they wait.
func (r *record) run(tx kv.Transaction, c chooser) error {
	blind := c.IntN(6) == 0
	if !blind {
		v, err := tx.ReadVersion().Wait()
		if err != nil {
			return err
		}
		r.readVersion = v
	}
	var waits []func() error
	for range 1 + c.IntN(6) {
		if blind || c.IntN(5) < 2 {
			m := c.mutation()
			m.send(tx)
			r.steps = append(r.steps, step{name: m.String(), mutation: m})
			continue
		}
		s, wait := randomRead(tx, c)
		at := len(r.steps)
		r.steps = append(r.steps, s)
		waits = append(waits, func() error {
			got, err := wait()
			if err == nil {
				r.steps[at].got, r.steps[at].answered = got, true
			}
			return err
		})
		if c.IntN(2) == 0 {
			if err := waits[len(waits)-1](); err != nil {
				return err
			}
			waits = waits[:len(waits)-1]
		}
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			return err
		}
	}
	return nil
}

func randomRead(tx kv.Transaction, c chooser) (s step, wait func() (string, error)) {
	var r kv.Reader = tx
	if s.snapshot = c.IntN(5) == 0; s.snapshot {
		r = tx.Snapshot()
	}
	switch c.IntN(4) {
	case 0, 1:
		k := c.key()
		s.name, s.read = fmt.Sprintf("get %q", k), func(s state) string { return s.get(k) }
		f := r.Get(key(k))
		return s, func() (string, error) { v, err := f.Wait(); return show(v), err }
	case 2:
		sel := c.selector()
		s.name, s.read = "key "+showSelector(sel), func(s state) string { return resolve(s.keys(), sel) }
		f := r.GetKey(sel)
		return s, func() (string, error) { k, err := f.Wait(); return string(k), err }
	}
	kr, o := c.rangeRead()
	s.name, s.read = fmt.Sprintf("range %s %+v", showRange(kr), o), func(s state) string { return s.rows(kr, o) }
	rows, err := collect(r, kr, o) // read to the end at once: writes must not come ahead of an open iterator
	return s, func() (string, error) { return rows, err }
}

package embedded_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
)

// ledger runs workers that write to an engine and records what was acknowledged, so that a store can be checked
// against it after a crash. Each worker counts up in one key; every step also logs itself under its versionstamp,
// adds to a total, and moves a row by clearing a range.
type ledger struct {
	workers []ledgerWorker
	total   atomic.Int64 // the highest that any reader has seen
}

type ledgerWorker struct {
	begun, acked atomic.Int64
}

func newLedger(workers int) *ledger { return &ledger{workers: make([]ledgerWorker, workers)} }

// promise is what a store must still have after a crash. It is taken before the crash.
type promise struct {
	acked, begun []int64
	total        int64
}

// promised reads the ledger. The caller sets begun after the crash: steps in progress may have happened.
func (l *ledger) promised() promise {
	p := promise{total: l.total.Load()}
	for w := range l.workers {
		p.acked = append(p.acked, l.workers[w].acked.Load())
	}
	return p
}

func (l *ledger) begun() (begun []int64) {
	for w := range l.workers {
		begun = append(begun, l.workers[w].begun.Load())
	}
	return begun
}

// run works until ctx ends or the engine fails, calling acked after every acknowledged step.
func (l *ledger) run(ctx context.Context, e kv.Engine, acked func(w int, i int64)) error {
	var workers, reader sync.WaitGroup
	errs := make([]error, len(l.workers)+1)
	for w := range l.workers {
		workers.Go(func() {
			for errs[w] == nil {
				errs[w] = l.step(ctx, e, w, acked)
			}
		})
	}
	looking, stop := context.WithCancel(ctx) // reads continue if only writes fail
	reader.Go(func() {
		for errs[len(l.workers)] == nil {
			errs[len(l.workers)] = l.look(looking, e)
		}
	})
	reader.Go(func() { l.nothing(looking, e) })
	workers.Wait()
	stop()
	reader.Wait()
	for _, err := range errs {
		if !kv.IsCode(err, kv.CodeCancelled) && !kv.IsCode(err, kv.CodeIOError) && !kv.IsCode(err, kv.CodeDiskFull) &&
			!kv.IsCode(err, kv.CodeUnwritable) {
			return err
		}
	}
	return nil
}

func (l *ledger) step(ctx context.Context, e kv.Engine, w int, acked func(int, int64)) error {
	at := &l.workers[w]
	i := at.acked.Load() + 1
	if at.begun.Load() >= i {
		return errors.New("a step was begun twice") // its result was unknown
	}
	at.begun.Store(i)
	_, _, err := kv.Transact(ctx, e, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		v, err := tx.Get(workerKey(w)).Wait()
		if err != nil {
			return struct{}{}, err
		}
		if got := number(v); got != i-1 {
			return struct{}{}, fmt.Errorf("worker %d is at %d, acknowledged was %d", w, got, i-1)
		}
		tx.Set(workerKey(w), counter(i))
		entry := append([]byte("log/"), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		tx.SetVersionstampedKey(entry, 4, fmt.Appendf(nil, "%d %d", w, i))
		tx.Atomic(kv.AtomicAdd, []byte("total"), counter(1))
		row := fmt.Appendf(nil, "row/%d/", w)
		tx.ClearRange(kv.KeyRange{Begin: row, End: append(row[:len(row):len(row)], 0xff)})
		tx.Set(fmt.Appendf(row[:len(row):len(row)], "%d", i), make([]byte, i*37%3000))
		return struct{}{}, nil
	})
	if err != nil {
		return err
	}
	at.acked.Store(i)
	if acked != nil {
		acked(w, i)
	}
	return nil
}

// nothing repeatedly commits transactions that leave no change in the store: one of them may be the last of a group
// that syncs.
func (l *ledger) nothing(ctx context.Context, e kv.Engine) {
	for i := 0; ; i++ {
		tx := e.Begin(ctx)
		empty := kv.KeyRange{Begin: []byte("nothing/"), End: []byte("nothing0")}
		if i%2 == 0 {
			tx.ClearRange(empty)
		} else {
			tx.AddWriteConflict(empty)
		}
		if tx.Commit() != nil {
			return // as the workers do
		}
	}
}

// look reads the total. Once seen, it must never be lost.
func (l *ledger) look(ctx context.Context, e kv.Engine) error {
	tx := e.Begin(ctx)
	defer tx.Cancel()
	v, err := tx.Get([]byte("total")).Wait()
	if err != nil {
		return err
	}
	l.total.Store(max(l.total.Load(), number(v)))
	return nil
}

func workerKey(w int) []byte { return fmt.Appendf(nil, "worker/%d", w) }

func counter(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

func number(b []byte) int64 {
	if len(b) != 8 {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// verify checks a reopened store against a promise; the ledger then continues from the store's state.
func (l *ledger) verify(ctx context.Context, e kv.Engine, p promise) error {
	tx := e.Begin(ctx)
	defer tx.Cancel()
	logged, newest, err := readLog(tx)
	if err != nil {
		return err
	}
	sum := int64(0)
	for w := range l.workers {
		v, err := tx.Get(workerKey(w)).Wait()
		if err != nil {
			return err
		}
		n := number(v)
		if n < p.acked[w] || n > p.begun[w] {
			return fmt.Errorf("worker %d is at %d; acknowledged were %d, begun %d", w, n, p.acked[w], p.begun[w])
		}
		if int64(len(logged[w])) != n {
			return fmt.Errorf("worker %d is at %d and has %d log entries", w, n, len(logged[w]))
		}
		for i, got := range logged[w] {
			if got != int64(i)+1 {
				return fmt.Errorf("worker %d logged step %d after %d others", w, got, i)
			}
		}
		if err := verifyRow(tx, w, n); err != nil {
			return err
		}
		sum += n
		l.workers[w].acked.Store(n)
		l.workers[w].begun.Store(n)
	}
	v, err := tx.Get([]byte("total")).Wait()
	if err != nil {
		return err
	}
	if total := number(v); total != sum || total < p.total {
		return fmt.Errorf("the total is %d; the workers add up to %d, and %d was seen", total, sum, p.total)
	}
	l.total.Store(number(v))
	next := e.Begin(ctx)
	defer next.Cancel()
	next.Set([]byte("after"), nil)
	if err := next.Commit(); err != nil {
		return err
	}
	if v, err := next.CommittedVersion(); err != nil || v <= newest {
		return fmt.Errorf("version %d, %w, after %d", v, err, newest)
	}
	return nil
}

// readLog returns each worker's steps in the order of their versionstamps, and the newest version.
func readLog(tx kv.Transaction) (steps map[int][]int64, newest int64, err error) {
	steps = make(map[int][]int64)
	it := tx.GetRange(kv.KeyRange{Begin: []byte("log/"), End: []byte("log0")}, kv.RangeOptions{Mode: kv.ModeWantAll})
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		var w int
		var i int64
		if _, err := fmt.Sscanf(string(row.Value), "%d %d", &w, &i); err != nil {
			return nil, 0, err
		}
		steps[w] = append(steps[w], i)
		newest = int64(binary.BigEndian.Uint64(row.Key[4:]))
	}
	return steps, newest, it.Err()
}

// verifyRow checks that the worker's row is where its last step moved it.
func verifyRow(tx kv.Transaction, w int, n int64) error {
	it := tx.GetRange(kv.KeyRange{Begin: fmt.Appendf(nil, "row/%d/", w), End: fmt.Appendf(nil, "row/%d0", w)},
		kv.RangeOptions{})
	defer it.Close()
	rows := int64(0)
	for ; it.Next(); rows++ {
		if want := fmt.Sprintf("row/%d/%d", w, n); string(it.KeyValue().Key) != want {
			return fmt.Errorf("there is %s, want %s", it.KeyValue().Key, want)
		}
	}
	if it.Err() == nil && rows != min(n, 1) {
		return fmt.Errorf("worker %d is at %d and has %d rows", w, n, rows)
	}
	return it.Err()
}

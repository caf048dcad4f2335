package intake

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// unit is the size of a request here. In a budget of 16 units the lane for large bodies has 6, of which one client may
// have 3.
const unit = 1 << 20

// waiting is a take that runs in the background.
type waiting struct {
	share *share
	err   error
	ended atomic.Bool
}

// done reports whether take has returned: share and err are set.
func (w *waiting) done() bool { return w.ended.Load() }

// budgetOf returns a budget of the given size.
func budgetOf(size int64, dir string) *Budget {
	return NewBudget(Limits{Memory: size, Wait: time.Minute, Rate: 1, Spool: dir}, slog.New(slog.DiscardHandler))
}

func taking(ctx context.Context, l *lane, client string, n int64) *waiting {
	w := &waiting{}
	go func() {
		w.share, w.err = l.take(ctx, client, n)
		w.ended.Store(true)
	}()
	synctest.Wait()
	return w
}

// A lane serves requests in order. A request that waits for memory of its own client does not delay others. One that
// waits too long gets an error.
func TestLane_take(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &budgetOf(16*unit, "").large
		a := taking(t.Context(), l, "a", 9*unit) // limited to the 3 that it may have
		again := taking(t.Context(), l, "a", unit)
		b := taking(t.Context(), l, "b", 2*unit)
		if !a.done() || again.done() || !b.done() {
			t.Fatalf("granted: %v, the same client again %v, another %v", a.done(), again.done(), b.done())
		}
		c, d := taking(t.Context(), l, "c", 2*unit), taking(t.Context(), l, "d", unit)
		if c.done() || d.done() {
			t.Errorf("granted although there is too little: %v; before its turn: %v", c.done(), d.done())
		}
		if _, err := l.try("e", 1); !errors.Is(err, ErrBusy) {
			t.Errorf("a try while others wait: %v", err)
		}
		if !a.share.pressed() {
			t.Error("no request waits")
		}
		b.share.release()
		b.share.release()
		synctest.Wait()
		if !c.done() || c.err != nil || !d.done() || d.err != nil {
			t.Errorf("after a release: %+v, %+v", c, d)
		}
		time.Sleep(budgetPatience)
		synctest.Wait()
		if !errors.Is(again.err, ErrBusy) || l.refused != 2 {
			t.Errorf("waited too long: %+v, %d refused", again, l.refused)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := taking(ctx, l, "a", unit)
		cancel()
		synctest.Wait()
		if !errors.Is(gone.err, context.Canceled) || l.queue.Len() != 0 {
			t.Errorf("a client that has gone: %+v, %d wait", gone, l.queue.Len())
		}
		for _, w := range []*waiting{a, c, d} {
			w.share.release()
		}
		if l.free != l.size || len(l.clients) != 0 {
			t.Errorf("%d of %d are free, clients hold %v", l.free, l.size, l.clients)
		}
	})
}

// slowBody returns its first half at once and the rest later.
type slowBody struct {
	text  []byte
	half  int
	after time.Duration
	at    int
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.at == len(b.text) {
		return 0, io.EOF
	}
	end := b.half
	if b.at >= b.half {
		time.Sleep(b.after)
		b.after, end = 0, len(b.text)
	}
	n := copy(p, b.text[b.at:end])
	b.at += n
	return n, nil
}

// A body that arrives slowly while others wait for its memory continues in a file. If no file can be created, the body
// keeps its memory and still arrives completely.
func TestIntake_spill(t *testing.T) {
	for name, c := range map[string]struct {
		dir    string
		spills bool
	}{
		"file":    {t.TempDir(), true},
		"no file": {filepath.Join(t.TempDir(), "missing"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text := bytes.Repeat([]byte("0123456789abcdef"), 2*unit/16)
				r := httptest.NewRequest("POST", "/", nil)
				body := &Body{of: r, budget: budgetOf(16*unit, c.dir), Client: "slow"}
				var got []byte
				var err error
				var taken atomic.Bool
				go func() {
					got, err = body.Take(&slowBody{text: text, half: unit, after: 2 * spillAfter}, -1, 4*unit)
					taken.Store(true)
				}()
				synctest.Wait()
				l := &body.budget.large
				b := taking(t.Context(), l, "b", 3*unit)
				other := taking(t.Context(), l, "c", 3*unit)
				if !b.done() || other.done() {
					t.Fatalf("granted before: %v, %v", b.done(), other.done())
				}
				time.Sleep(3 * spillAfter)
				synctest.Wait()
				if other.done() != c.spills {
					t.Errorf("another request got the memory: %v", other.done())
				}
				b.share.release()
				synctest.Wait()
				if !taken.Load() || err != nil || !bytes.Equal(got, text) {
					t.Errorf("the body: taken %v, %d bytes, %v", taken.Load(), len(got), err)
				}
				body.GiveBack()
				synctest.Wait()
				if !other.done() || other.err != nil {
					t.Errorf("the other request: %v", other.err)
				}
			})
		})
	}
}

// Clients that hold memory for a long time leave some of it for others, however many they are.
func TestLane_leaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &budgetOf(128*unit, "").held
		if l.size != 16*unit {
			t.Fatalf("the lane has %d bytes", l.size)
		}
		granted := func(client string) (list []*share) {
			for {
				s, err := l.try(client, unit)
				if err != nil {
					return list
				}
				list = append(list, s)
			}
		}
		a, b, c := granted("a"), granted("b"), granted("c")
		if len(a) != 8 || len(b) != 4 || len(c) != 2 {
			t.Fatalf("three clients got %d, %d and %d MiB", len(a), len(b), len(c))
		}
		more, other := taking(t.Context(), l, "a", unit), taking(t.Context(), l, "d", unit)
		if more.done() || !other.done() {
			t.Errorf("the first has got more: %v; a fourth has got some: %v", more.done(), other.done())
		}
		for _, s := range append(append(b, c...), other.share) {
			s.release()
		}
		synctest.Wait()
		if more.done() {
			t.Error("the first got more than half")
		}
		a[0].release()
		synctest.Wait()
		if !more.done() || more.err != nil {
			t.Errorf("the first gets no share after it gave one back: %v", more.err)
		}
	})
}

package script_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

// flood runs an endless function for many callers of several databases until the test ends. It returns once some of
// them have begun.
func flood(t *testing.T, limits script.Limits, callers int, body string) *script.Sandbox {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a machine that makes runtimes in much less time than a call may run")
	}
	begun := make(chan struct{}, 1000)
	s := script.New(script.Options{Limits: limits, Log: func(string) {
		select {
		case begun <- struct{}{}:
		default:
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	var attack sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		s.Close()
		attack.Wait()
	})
	for i := range callers {
		attack.Go(func() {
			ctx := script.Charge(ctx, fmt.Sprintf("bad%d", i%4), script.Class(i%3))
			source := fmt.Sprintf(`function(doc){ log("begun"); /* %d */ %s }`, i, body)
			for ctx.Err() == nil {
				f, err := s.Filter(ctx, []byte("{}"), script.Function{Name: "bad", Source: source})
				if err == nil {
					_, err = f.Filter(ctx, texts(`{}`), []byte("{}"))
				}
				if errors.Is(err, script.ErrClosed) {
					return
				}
			}
		})
	}
	for range 6 {
		<-begun
	}
	return s
}

// TestTurns checks that endless functions of any kind do not prevent other databases' functions from running, also
// when each call needs a new runtime.
func TestTurns(t *testing.T) {
	for _, tc := range []struct{ name, body string }{
		{"loops", `for (;;);`},
		{"growing", `var a = []; for (;;) a.push("x".repeat(1000) + a.length);`},
		{"never checks for interrupts", `Array.prototype.indexOf.call({length: 9007199254740991}, 1)`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := flood(t, script.Limits{Runtimes: 8, Time: 20 * time.Minute, Wait: 20 * time.Minute, Memory: 16 << 20},
				40, tc.body)
			ctx := script.Charge(t.Context(), "good", script.Interactive)
			var longest time.Duration
			for i := range 20 {
				began := time.Now()
				f, err := s.Validate(ctx, []byte("{}"),
					script.Function{Name: "good", Source: fmt.Sprintf(`function(doc){ throw {forbidden: %d} }`, i)})
				if err != nil {
					t.Fatal(err)
				}
				var no *script.Rejection
				if err := f.Validate(ctx, city, []byte("null"), []byte("{}"), []byte("{}")); !errors.As(err, &no) ||
					no.Reason != fmt.Sprint(i) {
					t.Fatalf("validation %d: %v", i, err)
				}
				longest = max(longest, time.Since(began))
			}
			t.Logf("longest %v; %+v", longest, s.Stats())
		})
	}
}

// TestTurns_long checks that a long call of another database also finishes, and that calls that are stopped and
// restarted give the right rows.
func TestTurns_long(t *testing.T) {
	s := flood(t, script.Limits{Runtimes: 4, Time: 20 * time.Minute, Wait: 20 * time.Minute}, 20, `for (;;);`)
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			ctx := script.Charge(t.Context(), fmt.Sprintf("good%d", i), script.Background)
			m, err := s.Maps(ctx, nil, []script.Function{
				{Name: "quick", Source: `function(doc){ emit(Math.abs(doc.n), 1) }`},
				{Name: "long",
					Source: `function(doc){ var n = 0; emit("first", 1); for (var i = 0; i < 200000; i++) n += i % 7; emit(doc.n, n) }`},
			})
			if err != nil {
				t.Error(err)
				return
			}
			var docs [][]byte
			for n := range 10 {
				docs = append(docs, fmt.Appendf(nil, `{"n":%d}`, n))
			}
			next := 0
			err = m.Map(ctx, docs, func(n int, r *script.Mapped) error {
				long := r.Rows[1]
				if n != next || len(r.Rows[0]) != 1 || len(long) != 2 || string(long[1].Key) != fmt.Sprint(n) ||
					string(long[1].Value) != "599994" || r.Errs[1] != nil {
					t.Errorf("document %d, expected %d: %s, %v", n, next, r.Rows, r.Errs)
				}
				next++
				return nil
			})
			if err != nil || next != len(docs) {
				t.Errorf("%d documents, %v", next, err)
			}
		})
	}
	callers.Wait()
}

// TestTurns_busy checks that a call that waits too long is refused with an error that names the database, and that
// the same call of another database is not.
func TestTurns_busy(t *testing.T) {
	s := flood(t, script.Limits{Runtimes: 4, Time: 20 * time.Minute, Wait: 300 * time.Millisecond}, 40, `for (;;);`)
	function := script.Function{Name: "f", Source: `function(doc){ return true }`}
	for {
		f, err := s.Filter(script.Charge(t.Context(), "bad1", script.Query), []byte("{}"), function)
		if err == nil {
			_, err = f.Filter(script.Charge(t.Context(), "bad1", script.Query), texts(`{}`), []byte("{}"))
		}
		var busy *script.BusyError
		if errors.As(err, &busy) {
			if busy.Database != "bad1" || s.Stats().Refused == 0 {
				t.Errorf("%v, %+v", busy, s.Stats())
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	databases := s.Stats().Databases
	if len(databases) == 0 || databases[0].Seconds == 0 {
		t.Errorf("databases %+v", databases)
	}
}

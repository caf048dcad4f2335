package script_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/divandb/divan/layer/script"
)

// A function that waits for a processor has not used its time: whatever else the machine does, the same documents are
// mapped, and a function that loops is stopped as soon as ever.
func TestMaps_starved(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps all processors busy")
	}
	s := open(t, script.Limits{Time: 5 * time.Second})
	source := `function(doc){ var s = %d; for (var i = 0; i < %d; i++) s += i; emit(doc.n, s) }`
	var m *script.Maps
	maps := func(seed, loops int, limit time.Duration) (took time.Duration, err error) {
		function := script.Function{Name: "slow", Source: fmt.Sprintf(source, seed, loops)}
		if m, err = s.Maps(t.Context(), nil, []script.Function{function}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if e := m.Within(limit).Map(t.Context(), [][]byte{[]byte(`{"n":1}`)}, func(_ int, r *script.Mapped) error {
			err = r.Errs[0]
			return nil
		}); e != nil {
			t.Fatal(e)
		}
		return time.Since(began), err
	}
	loops, alone := 100_000, time.Duration(0)
	for alone < 100*time.Millisecond { // by this machine's pace, whatever it does at the moment
		loops *= 2
		began := cpu()
		if _, err := maps(1, loops, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		alone = cpu() - began
	}
	var done atomic.Bool
	defer done.Store(true)
	for range 6 * runtime.GOMAXPROCS(0) {
		go func() {
			for !done.Load() {
			}
		}()
	}
	limit := 3 * alone
	took, err := maps(2, loops, limit)
	if err != nil {
		t.Errorf("a function that needs %v was stopped after %v with a limit of %v: %v", alone, took, limit, err)
	}
	if again := m.LimitAfter(10); again > 2*limit {
		t.Errorf("after ten loops, it may take %v for the next document", again)
	}
	if took < limit {
		t.Skipf("the function did not have to wait: it took %v with a limit of %v", took, limit)
	}
}

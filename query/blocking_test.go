package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/divandb/divan/query/exec/exectest"
)

// pg_blocking_pids names the sessions whose advisory locks another one waits for.
func TestSession_BlockingPIDs(t *testing.T) {
	s := exectest.NewStore()
	s.Create("db")
	_, addr := start(t, s, nil)
	url := "postgres://ann@" + addr + "/db"
	holder, waiter := connect(t, url), connect(t, url)
	if _, err := holder.Exec(t.Context(), "SELECT pg_advisory_lock_shared(7), pg_advisory_lock(8)"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		wait   string
		blocks bool
	}{{"SELECT pg_advisory_lock(7)", true}, {"SELECT pg_advisory_lock_shared(8)", true},
		{"SELECT pg_advisory_lock_shared(7), pg_sleep(60)", false}} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := waiter.Exec(ctx, c.wait)
			done <- err
		}()
		var pids []int64
		begin := time.Now()
		for ; time.Since(begin) < 10*time.Second && len(pids) == 0; time.Sleep(10 * time.Millisecond) {
			row := holder.QueryRow(t.Context(), "SELECT pg_blocking_pids($1)", waiter.PgConn().PID())
			if err := row.Scan(&pids); err != nil {
				t.Fatal(err)
			}
			if !c.blocks && time.Since(begin) > 100*time.Millisecond {
				break
			}
		}
		want := 0
		if c.blocks {
			want = 1
		}
		if len(pids) != want || want == 1 && pids[0] != int64(holder.PgConn().PID()) {
			t.Errorf("%s waits for %v, not for %d", c.wait, pids, holder.PgConn().PID())
		}
		cancel()
		<-done
		waiter.Close(t.Context())
		waiter = connect(t, url)
	}
}

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Long scans use all processors, and still a point read is not delayed by the time slices of each of them. The bound is
// a multiple of its latency alone, for busy machines. Without turns of the scans it takes 40 times as long.
func TestSQL_ShortBesideLong(t *testing.T) {
	const (
		rounds, reads, scans = 4, 200, 4
		times, slack         = 12, time.Millisecond
	)
	if testCluster != "" {
		t.Skip("a read waits for what scans have asked of FoundationDB's one process; the turns are those of the node")
	}
	t.Setenv("GOMAXPROCS", "2") // of the node
	p := start(t, t.TempDir(), "-admin", "root:sesame")
	admin := p.as("root:sesame")
	admin.ok("PUT", "/db", "")
	docs := make([]map[string]any, 30_000)
	for i := range docs {
		docs[i] = map[string]any{"_id": fmt.Sprintf("%05d", i), "name": fmt.Sprint("document ", i), "n": i, "m": i % 10}
	}
	if err := load(t, admin, "db", docs, func(bulkRow) {}); err != nil {
		t.Fatal(err)
	}
	short := connect(t, p, "db", "root:sesame")
	median := func() time.Duration {
		var took []time.Duration
		for i := range reads {
			var id string
			began := time.Now()
			if err := short.QueryRow(t.Context(), `SELECT id FROM docs WHERE id = $1`,
				fmt.Sprintf("%05d", i*149%len(docs))).Scan(&id); err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	var alone, beside time.Duration
	for range rounds {
		alone += median() / rounds
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, scans)
		for range scans {
			conn := connect(t, p, "db", "root:sesame")
			go func() { done <- scanUntil(ctx, conn) }()
		}
		time.Sleep(50 * time.Millisecond) // until the scans are long
		beside += median() / rounds
		stop()
		for range scans {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}

	}
	if beside > times*alone+slack {
		t.Errorf("a point read takes %v beside %d scans, and %v alone", beside, scans, alone)
	}
}

// scanUntil groups all documents again and again until ctx ends.
func scanUntil(ctx context.Context, conn *pgx.Conn) (err error) {
	for err == nil && ctx.Err() == nil {
		var n int
		err = conn.QueryRow(ctx, `SELECT count(*) FROM (SELECT doc->>'m', count(*) FROM docs GROUP BY 1) q`).Scan(&n)
		if err == nil && n != 10 {
			err = fmt.Errorf("%d groups", n)
		}
	}
	if ctx.Err() != nil {
		err = nil // the statement was cancelled
	}
	return err
}

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Transactions of SQL through two nodes on one store, and HTTP requests, are strictly serialisable. One of the nodes is
// killed amid its commits: then nothing that was acknowledged is lost, and what was not is there as a whole or not at
// all.
func TestCluster_SQLWrites(t *testing.T) {
	c := startCluster(t, 2)
	client := c.nodes[0].client()
	client.ok("PUT", "/db", "")
	const keys = 4
	for k := range keys {
		client.ok("PUT", fmt.Sprintf("/db/k%d", k), `{"n":0}`)
		client.ok("PUT", fmt.Sprintf("/db/twin%d", k), `{"n":0}`)
		client.ok("PUT", fmt.Sprintf("/db/http%d", k), `{"n":0}`)
	}
	w := &clusterWrites{t: t, client: client}
	var down, stop atomic.Bool
	work := func(group *sync.WaitGroup, node int) {
		for _, f := range []func(*pgx.Conn) error{w.transaction, w.statement} {
			conn := connect(t, c.nodes[node], "db", "ann")
			group.Go(func() {
				for !stop.Load() {
					err := f(conn)
					switch {
					case err == nil || sqlCode(err) == "40001":
					case node == 1 && down.Load():
						return
					default:
						t.Errorf("node %d: %v", node, err)
						return
					}
				}
			})
		}
	}
	var wg, first sync.WaitGroup
	work(&wg, 0)
	work(&first, 1)
	wg.Go(func() {
		for !stop.Load() {
			w.http()
		}
	})
	reached := func(what string, n int64) {
		t.Helper()
		eventually(t, what, time.Minute, func() bool { return w.count.Load() >= n })
	}
	reached("writes through both nodes", 150)
	down.Store(true)
	c.nodes[1].kill()
	first.Wait()
	reached("writes through the remaining node", w.count.Load()+50)
	c.start(1)
	down.Store(false)
	work(&wg, 1)
	reached("writes after the restart", w.count.Load()+150)
	stop.Store(true)
	wg.Wait()

	if cycle := serialisable(w.history); cycle != nil {
		for _, a := range cycle {
			t.Errorf("in a cycle: %s reads %v writes %v from %s to %s", a.what, a.reads, a.writes,
				a.began.Format("05.000000"), a.ended.Format("05.000000"))
		}
	}
	written := map[string]int{}
	for _, a := range w.history {
		for k := range a.writes {
			written[k]++
		}
	}
	unknown := 2 // a transaction and a statement of the node that was killed
	for k := range keys {
		key, twin := fmt.Sprintf("k%d", k), fmt.Sprintf("twin%d", k)
		n := generation(client.object("GET", "/db/"+key, "")["_rev"].(string)) - 1
		m := generation(client.object("GET", "/db/"+twin, "")["_rev"].(string)) - 1
		if n < written[key] || n > written[key]+unknown {
			t.Errorf("%s has %d edits, of which %d were acknowledged", key, n, written[key])
		}
		if m != n {
			t.Errorf("%s has %d edits, and %s, which is written with it, %d", key, n, twin, m)
		}
	}
	t.Logf("%d in the history", len(w.history))
}

// clusterWrites collects a history. Each write of kN by SQL writes twinN too. HTTP writes httpN.
type clusterWrites struct {
	t       *testing.T
	client  *client
	count   atomic.Int64
	mu      sync.Mutex
	history []attempt
}

func (w *clusterWrites) note(a attempt) {
	a.ended = time.Now()
	w.mu.Lock()
	w.history = append(w.history, a)
	w.mu.Unlock()
	w.count.Add(1)
}

// update writes a key and its twin.
func (w *clusterWrites) update(ctx context.Context, q querier, a *attempt) error {
	n := rand.IntN(4)
	return a.update(ctx, q, fmt.Sprintf("k%d", n), fmt.Sprintf("twin%d", n))
}

func newAttempt(what string) attempt {
	return attempt{what: what, reads: map[string]int{}, writes: map[string]int{}, began: time.Now()}
}

// statement is an UPDATE of its own.
func (w *clusterWrites) statement(conn *pgx.Conn) error {
	a := newAttempt("a statement")
	err := w.update(context.Background(), conn, &a)
	if err == nil {
		w.note(a)
	}
	return err
}

// transaction reads two documents and writes others.
func (w *clusterWrites) transaction(conn *pgx.Conn) error {
	a := newAttempt("a transaction")
	ctx := context.Background()
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.Serializable}, func(tx pgx.Tx) error {
		for _, kind := range []string{"k", "http"} {
			key, rev := fmt.Sprintf("%s%d", kind, rand.IntN(4)), ""
			if err := tx.QueryRow(ctx, "SELECT rev FROM docs WHERE id = $1", key).Scan(&rev); err != nil {
				return err
			}
			a.reads[key] = generation(rev)
		}
		return w.update(ctx, tx, &a)
	})
	if err == nil {
		w.note(a)
	}
	return err
}

// http is a read and an edit over HTTP.
func (w *clusterWrites) http() {
	id := fmt.Sprintf("k%d", rand.IntN(4))
	read := newAttempt("a request")
	rev, _ := w.client.object("GET", "/db/"+id, "")["_rev"].(string)
	read.reads[id] = generation(rev)
	w.note(read)
	id = fmt.Sprintf("http%d", rand.IntN(4))
	edit := newAttempt("an edit")
	rev, _ = w.client.object("GET", "/db/"+id, "")["_rev"].(string)
	answer := w.client.do("PUT", "/db/"+id, fmt.Sprintf(`{"_rev":%q}`, rev))
	var written struct{ Rev string }
	if answer.status != http.StatusCreated || json.Unmarshal(answer.body, &written) != nil {
		w.t.Errorf("PUT %s: %d %s", id, answer.status, answer.body)
		return
	}
	edit.reads[id], edit.writes[id] = generation(rev), generation(written.Rev)
	w.note(edit)
}

package actors_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

// workers records which nodes reported progress on shards' jobs.
func workers(ctx context.Context, t *testing.T, store *layer.Store) map[string]string {
	t.Helper()
	by := map[string]string{}
	for j, err := range store.Jobs(ctx) {
		if err != nil {
			if ctx.Err() != nil {
				return by
			}
			t.Fatal(err)
		}
		if j.Type == "index shard" && j.Worker != "" {
			by[strings.TrimPrefix(j.ID, "cities/")] = j.Worker
		}
	}
	return by
}

// cityNodes starts nodes over one store with 20,000 cities in four shards, which are not indexed yet. The shards'
// actors are placed on n1 and n2 alternately. A shard's job waits for its node during the grace period.
func cityNodes(t *testing.T, nodes int,
	grace time.Duration) (systems []*actors.System, stores []*layer.Store, db *layer.Database, design *layer.Design) {
	t.Helper()
	m, systems, stores := startNodes(t, openEngine(t), nodes, grace)
	db = create(t, stores[0], "cities", 4)
	for i, id := range shardsOf(t, db) {
		m.place("cities/"+string(id), fmt.Sprint("n", 1+i%2))
	}
	putMany(t, db, cityCount)
	put(t, db, byCountry)
	design, err := db.Design(t.Context(), "by")
	if err != nil {
		t.Fatal(err)
	}
	return systems, stores, db, design
}

const cityCount = 20_000

// A first build is shared: each shard is indexed on the node that its actor is placed on, not where the index was
// requested, and the index has every document.
func TestShared_EachShardOnItsNode(t *testing.T) {
	systems, stores, db, design := cityNodes(t, 3, time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	var mu sync.Mutex
	seen, led := map[string]map[string]bool{}, false
	watching.Go(func() {
		for ctx.Err() == nil {
			for shard, worker := range workers(ctx, t, stores[2]) {
				mu.Lock()
				if seen[worker] == nil {
					seen[worker] = map[string]bool{}
				}
				seen[worker][shard] = true
				mu.Unlock()
			}
			leading := 0
			for _, s := range systems {
				list, _ := s.Indexes(ctx, 10) // the error is for the end
				for _, ix := range list {
					if ix.Leads {
						leading++
					}
				}
			}
			mu.Lock()
			led = led || leading == 1
			mu.Unlock()
			if leading > 1 {
				t.Errorf("%d nodes lead the build", leading)
			}
			for _, s := range systems {
				for _, task := range s.Tasks() {
					if task.Shard != "" && task.Documents > 0 && (task.Total < task.Documents || task.Progress == 0) {
						t.Errorf("%d of %d changes of shard %s, %d %%", task.Documents, task.Total, task.Shard, task.Progress)
					}
				}
			}
			time.Sleep(time.Millisecond)
		}
	})
	if err := systems[0].Ensure(t.Context(), actors.Of(db), design); err != nil {
		t.Fatal(err)
	}
	stop()
	watching.Wait()
	if n, total := rows(t, db, design); n != cityCount || total != cityCount {
		t.Errorf("%d rows, total %d", n, total)
	}
	for worker, shards := range seen {
		if worker == "n0" || len(shards) != 2 {
			t.Errorf("workers of %s: %v", worker, shards)
		}
	}
	if !led {
		t.Error("no node leads the build")
	}
	if len(seen) != 2 {
		t.Errorf("workers %v", seen)
	}
	for j, err := range stores[0].Jobs(t.Context()) {
		if err != nil || j.Type == "index shard" {
			t.Errorf("left in the queue: %+v, %v", j, err)
		}
	}
	eventually(t, func() string {
		for i, s := range systems {
			if n := len(s.Tasks()); n != 0 {
				return fmt.Sprintf("n%d still has %d tasks", i, n)
			}
		}
		return ""
	})
}

// A node that has taken shards stops. Other nodes continue them. So does the node that began the build.
func TestShared_NodesStop(t *testing.T) {
	systems, _, db, design := cityNodes(t, 4, 0)
	done := make(chan error, 1)
	go func() { done <- systems[3].Ensure(t.Context(), actors.Of(db), design) }()
	stopped := map[int]bool{}
	deadline := time.After(60 * time.Second)
	for len(stopped) < 2 {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("the build was finished after only %d nodes had stopped", len(stopped))
			done <- nil
			stopped[-1], stopped[-2] = true, true
		case <-deadline:
			t.Fatal("the build makes no progress")
		case <-time.After(2 * time.Millisecond):
		}
		for i := range 3 {
			if !stopped[i] && len(stopped) < 2 && busy(systems[i]) {
				stopped[i] = true
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				if err := systems[i].Stop(ctx); err != nil {
					t.Error(err)
				}
				cancel()
			}
		}
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-deadline:
		t.Fatal("the build does not end")
	}
	if n, total := rows(t, db, design); n != cityCount || total != cityCount {
		t.Errorf("%d rows, total %d", n, total)
	}
}

// busy reports whether a node has begun to work on an index.
func busy(s *actors.System) bool {
	for _, task := range s.Tasks() {
		if task.Documents > 0 {
			return true
		}
	}
	return false
}

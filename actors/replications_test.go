package actors_test

import (
	"context"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

// copier works on each job until it is to be given back, and then for a moment more.
type copier struct {
	store *layer.Store
	begun chan string // gets the worker of each job
}

func (c *copier) Limit() int                           { return 10 }
func (c *copier) Attach(func(), func(job string) bool) {}
func (c *copier) Replicate(ctx context.Context, stop <-chan struct{}, job *layer.Job) {
	c.begun <- job.Worker
	select {
	case <-ctx.Done():
		return
	case <-stop:
	}
	time.Sleep(50 * time.Millisecond)
	_ = c.store.GiveBack(ctx, job) // the test sees whether it has worked
}

// The leases of replications are renewed for as long as they run. A node that stops lets them end by themselves and
// give their jobs back, so that nobody waits for the ends of the leases.
func TestSystem_Replications(t *testing.T) {
	store := openLayer(t)
	const jobs = 3
	c := &copier{store, make(chan string, 2*jobs)}
	lease := 400 * time.Millisecond
	change := func(node string) func(*actors.Options) {
		return func(o *actors.Options) { o.Node, o.Lease, o.Replications = node, lease, c }
	}
	first := startStore(t, actors.FromLayer(store), change("n1"))
	for _, id := range []string{"a", "b", "c"} {
		if err := store.Enqueue(t.Context(), layer.ReplicationJobs, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	next := func(want string) {
		t.Helper()
		for range jobs {
			select {
			case got := <-c.begun:
				if got != want {
					t.Errorf("%s has a job, want %s", got, want)
				}
			case <-time.After(5 * time.Second):
				t.Fatalf("%s has not got all jobs", want)
			}
		}
	}
	next("n1")
	startStore(t, actors.FromLayer(store), change("n2"))
	time.Sleep(4 * lease)
	if len(c.begun) > 0 {
		t.Errorf("a job was taken by %s from a node that works", <-c.begun)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for j, err := range store.Jobs(t.Context()) {
		if err != nil || j.Worker == "n1" {
			t.Errorf("a node that has stopped has %+v, %v", j, err)
		}
	}
	next("n2")
}

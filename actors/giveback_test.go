package actors_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
)

// holding is a store that waits where a job of removing unused indexes is claimed, or worked on until ctx ends.
type holding struct {
	actors.Store
	claims  bool // waits in a claim
	once    sync.Once
	reached chan struct{}
	goOn    chan struct{} // ends the claim
}

func (h *holding) Claim(ctx context.Context, typ string, w layer.Worker) (layer.Claimed, error) {
	c, err := h.Store.Claim(ctx, typ, w)
	if h.claims && c.Job != nil && typ == layer.CleanupJobs {
		h.once.Do(func() { close(h.reached) })
		<-h.goOn
	}
	return c, err
}

func (h *holding) Database(ctx context.Context, name string) (actors.Database, error) {
	d, err := h.Store.Database(ctx, name)
	if h.claims || err != nil {
		return d, err
	}
	return heldDatabase{d, h}, nil
}

type heldDatabase struct {
	actors.Database
	h *holding
}

func (d heldDatabase) CleanupViews(ctx context.Context) error {
	d.h.once.Do(func() { close(d.h.reached) })
	<-ctx.Done()
	return ctx.Err()
}

// A node that drains or stops gives back the job of removing unused indexes, also one that it is just claiming, so that
// another node need not wait for the end of its lease.
func TestSystem_GivesBackCleanup(t *testing.T) {
	for name, c := range map[string]struct{ claims, stops bool }{
		"drained in a claim": {true, false},
		"drained at work":    {false, false},
		"stopped in a claim": {true, true},
		"stopped at work":    {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			store := openLayer(t)
			create(t, store, "cities", 1)
			h := &holding{Store: actors.FromLayer(store), claims: c.claims, reached: make(chan struct{}),
				goOn: make(chan struct{})}
			s := startStore(t, h, nil)
			if err := h.Enqueue(t.Context(), layer.CleanupJobs, "cities", nil); err != nil {
				t.Fatal(err)
			}
			receives(t, h.reached, "a claim or a run")
			ended := make(chan error, 1)
			if c.stops {
				go func() { ended <- s.Stop(t.Context()) }()
				time.Sleep(50 * time.Millisecond) // if Stop begins later than that, the job is just done
			} else {
				s.Drain(t.Context())
				ended <- nil
			}
			close(h.goOn)
			eventually(t, func() string {
				for j, err := range store.Jobs(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					if j.Type == layer.CleanupJobs && j.State == layer.JobRunning {
						return "the node still has the job"
					}
				}
				return ""
			})
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

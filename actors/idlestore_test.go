package actors

import (
	"context"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// idleStore is a store with an empty queue.
type idleStore struct{ Store }

func (idleStore) WatchJobs(context.Context, string, layer.Worker) (kv.Watch, *layer.DueJob, error) {
	return never{make(chan struct{})}, nil, nil
}

// never is a watch that does not fire.
type never struct{ done chan struct{} }

func (n never) Done() <-chan struct{} { return n.done }
func (n never) Err() error            { return nil }
func (n never) Cancel()               {}

package node

import (
	"context"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// degrader is a part that can say why it needs an operator although the node serves. See kv.Degrader.
type degrader interface{ Degraded() []string }

// health is how this node is.
type health struct {
	engine  kv.Engine
	store   *layer.Store
	cluster *cluster.Cluster
	actors  *actors.System
	open    *openDatabases
}

// Degraded lists why this node needs an operator although it serves, each as "name: what is wrong and what to do". It
// does not block.
func (h health) Degraded() []string {
	var reasons []string
	for _, part := range []any{h.engine, h.cluster, h.actors, h.open} {
		if d, ok := part.(degrader); ok {
			reasons = append(reasons, d.Degraded()...)
		}
	}
	return reasons
}

// probeTimeout is how long the store may take to show that it is there: shorter than a prober's own timeout.
const probeTimeout = 2 * time.Second

// Ready implements api.Health: the node can serve when its store answers. Nil, or an Unavailable error within
// probeTimeout. The read is a strict one: a cluster that could only give an old version could not take a write. A store
// that can only be read since its disk failed is not ready either.
func (h health) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, err := range h.store.Names(ctx, layer.NamesOptions{Limit: 1}) {
		if err != nil {
			return &layer.Error{Kind: layer.Unavailable, Reason: "The store does not answer", Err: err}
		}
	}
	if f, ok := h.engine.(kv.Failer); ok && f.Failed() != nil {
		return f.Failed()
	}
	return nil
}

// freeBytes tells the room on the disk of the node's own store, for metrics. It is nil for other stores.
func freeBytes(engine kv.Engine) func() float64 {
	e, ok := engine.(interface{ FreeBytes() (int64, bool) })
	if !ok {
		return nil
	}
	if _, known := e.FreeBytes(); !known {
		return nil
	}
	return func() float64 {
		free, _ := e.FreeBytes()
		return float64(free)
	}
}

// counts counts the reasons by name, for metrics.
func (h health) counts() map[string]int {
	counts := map[string]int{}
	for _, reason := range h.Degraded() {
		name, _, _ := strings.Cut(reason, ":")
		counts[name]++
	}
	return counts
}

// shown is the dashboard's section of what needs attention.
func (h health) shown(context.Context) (any, error) {
	return append(append([]string{}, h.Degraded()...), h.open.shown()...), nil
}

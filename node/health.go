package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/remote"
	"github.com/divandb/divan/node/machine"
)

// degrader is a part that can say why it needs an operator although the node still serves requests. See kv.Degrader.
type degrader interface{ Degraded() []string }

// health collects the health of the node's parts.
type health struct {
	engine  kv.Engine
	store   *layer.Store
	cluster *cluster.Cluster
	actors  *actors.System
	open    *openDatabases
	memory  *machine.MemoryWatch
	// draining reports whether the node is about to end.
	draining func() bool
}

func (n *Node) health() health {
	return health{engine: n.engine, store: n.store, cluster: n.cluster, actors: n.actors, open: n.open,
		memory: n.memory, draining: n.draining.Load}
}

// Degraded lists why the node needs an operator although it still serves requests, each as "name: what is wrong and
// what to do". It does not block.
func (h health) Degraded() []string {
	var reasons []string
	for _, part := range []any{h.engine, h.cluster, h.actors, h.open, h.memory} {
		if d, ok := part.(degrader); ok {
			reasons = append(reasons, d.Degraded()...)
		}
	}
	return reasons
}

// diskIsLow is the name of the event, and of the reason to need an operator, that the store's disk will soon be full.
const diskIsLow = "disk_low"

// diskIsFull is the name of the reason that writes are refused for want of space.
const diskIsFull = "disk_full"

// diskLow returns that reason while it holds, unless Degraded already tells that the disk is full. It is for operators
// alone: the node accepts writes, so that probes are not told.
func (h health) diskLow() []string {
	e, ok := h.engine.(diskWatcher)
	if !ok {
		return nil
	}
	text, low := e.DiskLow()
	if !low || slices.ContainsFunc(h.Degraded(), func(r string) bool { return strings.HasPrefix(r, diskIsFull+":") }) {
		return nil
	}
	return []string{diskIsLow + ": " + text}
}

// diskWatcher is an engine that knows whether the store's disk will soon be full, and says so.
type diskWatcher interface {
	DiskLow() (text string, low bool)
}

// probeTimeout bounds the wait for the store in a readiness probe. It is shorter than a prober's own timeout.
const probeTimeout = 2 * time.Second

// Ready implements api.Health: StoreReady, but not while the node is drained.
func (h health) Ready(ctx context.Context) error {
	if h.draining() {
		return &layer.Error{Kind: layer.Unavailable, Reason: "The node is being drained."}
	}
	return h.StoreReady(ctx)
}

// StoreReady returns nil, or an Unavailable error within probeTimeout. It does a strict read, because a cluster that
// can only serve an old read version cannot take a write either. A store that became read-only after a disk failure is
// not ready.
func (h health) StoreReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	for _, err := range h.store.Names(ctx, layer.NamesOptions{Limit: 1}) {
		if err != nil {
			return &layer.Error{Kind: layer.Unavailable, Reason: h.unreadable(err), Err: err}
		}
	}
	if f, ok := h.engine.(kv.Failer); ok && f.Failed() != nil {
		return f.Failed()
	}
	return nil
}

// unreadable says why the store could not be read, and what the engine says about it.
func (h health) unreadable(err error) string {
	reasons := []string{"The store does not answer"}
	var failed *kv.Error
	answered := errors.As(err, &failed) && (failed.Code == kv.CodeFileCorrupt || failed.Code == kv.CodeIOError)
	if answered {
		reasons[0] = "The store cannot be read: " + failed.Message
	}
	_, elsewhere := h.engine.(*remote.Engine) // whose reasons are of its last answer
	if d, ok := h.engine.(degrader); ok && (answered || !elsewhere) {
		reasons = append(reasons, d.Degraded()...)
	}
	return strings.Join(reasons, "; ")
}

// freeBytes returns a function that reports the free space on the disk of the node's own store or of FoundationDB's
// fullest server, and whether it is known. It returns nil for a store on another node.
func freeBytes(engine kv.Engine) func() (free int64, known bool) {
	e, ok := engine.(interface{ FreeBytes() (int64, bool) })
	if !ok {
		return nil
	}
	return e.FreeBytes
}

// counts returns the number of reasons by name, for metrics.
func (h health) counts() map[string]int {
	counts := map[string]int{}
	for _, reason := range h.Degraded() {
		name, _, _ := strings.Cut(reason, ":")
		counts[name]++
	}
	return counts
}

package actors

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/divandb/divan/actors/internal/ports"
)

// Options of Start. The zero value of a field is its default.
type Options struct {
	// System is the protoactor system to run in, from NewActorSystem; the cluster sets up remoting on it before. nil
	// makes one without remoting.
	System *actor.ActorSystem
	// Store is where databases and jobs are: FromLayer. Required.
	Store ports.Store
	// Placer says which actors belong on this node. nil: all of them.
	Placer Placer
	// Peers is the other nodes. nil: there are none. Where it is set and Placer is not, it is the Placer too.
	Peers Peers
	// Node is this node's name, as members and as the worker of its jobs. "local" by default.
	Node   string
	Logger *slog.Logger

	// Linger is how long an actor without work is kept. 10 s by default.
	Linger time.Duration
	// Beat paces what nodes tell each other about changes shards: a node whose listeners hear of a shard from another
	// one that has fallen silent watches by itself after three of them. 250 ms by default.
	Beat time.Duration
	// Lease is how long a job's worker may be silent before another node takes the job over. The jobs of a killed node
	// go on elsewhere after at most one and a half times that. 1.6 s by default.
	Lease time.Duration
	// OwnersGrace is how long a job waits for the node it belongs on before any other takes it. 200 ms by default.
	OwnersGrace time.Duration
	// MaxIndexers bounds the index builds under way on this node. 4 by default.
	MaxIndexers int
	// ShareFrom is from how many changes on the first build of an index is shared with other nodes, a job for each
	// changes shard. 10,000 by default.
	ShareFrom int64
	// MaxShards bounds the shards of shared builds that this node works on at once. As many as there are processors by
	// default.
	MaxShards int
	// Batch is how many documents an indexer takes at first; it adapts. 100 by default (V6).
	Batch int
	// CompactionShare is how much of the time compaction may work on this node, in per cent. 20 by default.
	CompactionShare int
	// WarmFor is how long an index is kept warm after somebody asked for it. 1 h by default; negative: never.
	WarmFor time.Duration
	// WarmGather is how long changes are gathered before warm indexes are updated. 250 ms by default.
	WarmGather time.Duration
}

// withDefaults completes a copy.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Placer == nil && o.Peers != nil {
		o.Placer = o.Peers
	}
	if o.Placer == nil {
		o.Placer = everything{}
	}
	if o.Node == "" {
		o.Node = "local"
	}
	if o.Linger == 0 {
		o.Linger = 10 * time.Second
	}
	if o.Beat == 0 {
		o.Beat = 250 * time.Millisecond
	}
	if o.Lease == 0 {
		o.Lease = 1600 * time.Millisecond
	}
	if o.OwnersGrace == 0 {
		o.OwnersGrace = 200 * time.Millisecond
	}
	if o.MaxIndexers == 0 {
		o.MaxIndexers = 4
	}
	if o.ShareFrom == 0 {
		o.ShareFrom = 10_000
	}
	if o.MaxShards == 0 {
		o.MaxShards = processors()
	}
	if o.Batch == 0 {
		o.Batch = 100
	}
	if o.CompactionShare == 0 {
		o.CompactionShare = 20
	}
	if o.WarmFor == 0 {
		o.WarmFor = time.Hour
	}
	if o.WarmGather == 0 {
		o.WarmGather = 250 * time.Millisecond
	}
	return o
}

// Placer is what actors ask of the cluster.
type Placer interface {
	// Owns reports whether the actor of that kind and id belongs on this node, at the moment and in this node's view.
	// It does not block.
	Owns(kind, id string) bool
}

// everything is the placement of a node alone.
type everything struct{}

func (everything) Owns(string, string) bool { return true }

// Peers is the other nodes, as actors need them; the cluster's. All methods are safe for concurrent use and do not
// block.
type Peers interface {
	Placer
	// Owner names the member that the actor of a kind and id belongs on, at the moment and in this node's view: this
	// node's name where it is this one.
	Owner(kind, id string) string
	// Company reports whether there are other members now.
	Company() bool
	// Left reports whether a member is known to have left the cluster, or to have been given up.
	Left(member string) bool
	// Send sends a message to a member's System.Receive: at most once, perhaps late, perhaps never, and nobody is told.
	Send(member string, message []byte)
	// Subscribe returns a channel that receives after each change of placement. Call cancel when done.
	Subscribe() (changed <-chan struct{}, cancel func())
}

// processors is how many goroutines run at once.
func processors() int { return runtime.GOMAXPROCS(0) }

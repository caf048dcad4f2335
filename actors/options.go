package actors

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/divandb/divan/actors/internal/ports"
)

// Options of Start. Zero fields have defaults.
type Options struct {
	// System is the protoactor system to run in, from NewActorSystem, on which the cluster has already set up remoting.
	// nil creates one without remoting.
	System *actor.ActorSystem
	// Store has the databases and jobs. See FromLayer. It is required.
	Store ports.Store
	// Placer decides which actors belong on this node. nil means all of them.
	Placer Placer
	// Peers are the other nodes. nil means that there are none. If it is set and Placer is not, it is also the Placer.
	Peers Peers
	// Node is this node's name as a member, and as the worker of its jobs. The default is "local".
	Node   string
	Logger *slog.Logger

	// Replications runs jobs of replications. If it is nil, this node takes none.
	Replications ReplicationWorker

	// Notify, if not nil, is called for each event. It must not block.
	Notify func(Event)

	// Linger is how long an actor without work is kept. The default is 10 s.
	Linger time.Duration
	// Beat is the interval between messages of nodes about changes shards. A node whose shards are watched by another
	// node watches them itself if that node is silent for three beats. The default is 250 ms.
	Beat time.Duration
	// Lease is how long a job's worker may be silent before another node takes the job over. The jobs of a killed node
	// continue elsewhere after at most one and a half times that. The default is 1.6 s.
	Lease time.Duration
	// OwnersGrace is how long a job waits for the node that it belongs on before other nodes may take it. The default
	// is 200 ms.
	OwnersGrace time.Duration
	// MaxIndexers is the maximum number of concurrent index builds on this node. The default is 4.
	MaxIndexers int
	// ShareFrom is the number of changes from which on the first build of an index is shared with other nodes, with one
	// job for each changes shard. The default is 10,000.
	ShareFrom int64
	// MaxShards is the maximum number of shards of shared builds that this node works on concurrently. The default is
	// the number of processors.
	MaxShards int
	// Batch is how many documents an indexer processes at first. It adapts. The default is 100 (V6).
	Batch int
	// BuildTurn is how long a build may have one of this node's workers while others wait for one. The default is 10 s.
	BuildTurn time.Duration
	// CompactionShare is how much of the time compaction may work on this node, in percent. The default is 20.
	CompactionShare int
	// WarmFor is how long an index is kept warm after it was asked for. The default is the constant WarmFor, an
	// hour; a negative value disables it.
	WarmFor time.Duration
	// WarmGather is how long changes are gathered before warm indexes are updated. The default is 250 ms.
	WarmGather time.Duration
}

// withDefaults returns a copy with defaults.
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
	if o.BuildTurn == 0 {
		o.BuildTurn = 10 * time.Second
	}
	if o.CompactionShare == 0 {
		o.CompactionShare = 20
	}
	if o.WarmFor == 0 {
		o.WarmFor = WarmFor
	}
	if o.WarmGather == 0 {
		o.WarmGather = 250 * time.Millisecond
	}
	return o
}

// Placer decides where actors belong.
type Placer interface {
	// Owns reports whether the actor of a kind and id currently belongs on this node, in this node's view. It does not
	// block.
	Owns(kind, id string) bool
}

// everything places all actors on the only node.
type everything struct{}

func (everything) Owns(string, string) bool { return true }

// Peers are the other nodes, implemented by the cluster. All methods are safe for concurrent use and do not block.
type Peers interface {
	Placer
	// Owner returns the member that the actor of a kind and id currently belongs on, in this node's view, if it must
	// not be one of some members. It may be this node.
	Owner(kind, id string, except ...string) string
	// HasOthers reports whether there are currently other members.
	HasOthers() bool
	// Left reports whether a member is known to have left the cluster, or to have been given up.
	Left(member string) bool
	// Send sends a message to a member's System.Receive: at most once, perhaps late, perhaps never, without an error.
	Send(member string, message []byte)
	// Subscribe returns a channel that receives after each change of placement. Call cancel when done.
	Subscribe() (changed <-chan struct{}, cancel func())
}

// processors returns how many goroutines run in parallel.
func processors() int { return runtime.GOMAXPROCS(0) }

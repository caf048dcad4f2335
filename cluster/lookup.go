package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	pcluster "github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
)

// activatorName is the process that starts actors for other members.
const activatorName = "divan-activator"

// activateTimeout bounds how long a member may take to start an actor. A dead one costs this much once, until gossip has noticed.
const activateTimeout = 2 * time.Second

// lookup is protoactor's identity lookup by rendezvous hashing over this node's view. Two nodes with different views may each activate an actor;
// that costs speed and nothing else.
type lookup struct{ c *Cluster }

var _ pcluster.IdentityLookup = lookup{}

// Get is the process id of an actor on the member that should have it, started if it does not run; nil if that cannot be had now. It may block for
// activateTimeout.
func (l lookup) Get(id *pcluster.ClusterIdentity) *actor.PID {
	pid, err := l.find(id.Kind, id.Identity)
	if err != nil {
		l.c.o.Logger.Debug("no actor", "kind", id.Kind, "id", id.Identity, "error", err)
		return nil
	}
	return pid
}

func (l lookup) find(kind, id string) (*actor.PID, error) {
	owner := l.c.Owner(kind, id)
	if owner.Self {
		if l.c.o.Activate == nil {
			return nil, errors.New("this member activates no actors")
		}
		return l.c.o.Activate(kind, id)
	}
	ask := &remote.ActorPidRequest{Kind: kind, Name: id}
	answer, err := l.c.o.System.Root.RequestFuture(actor.NewPID(owner.Remote, activatorName), ask, activateTimeout).Result()
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", owner.Name, err)
	}
	r, ok := answer.(*remote.ActorPidResponse)
	if !ok || r.Pid == nil {
		return nil, fmt.Errorf("%s does not have it", owner.Name)
	}
	return r.Pid, nil
}

// RemovePid forgets an answer that proved wrong.
func (l lookup) RemovePid(id *pcluster.ClusterIdentity, pid *actor.PID) {
	l.c.proto.PidCache.RemoveByValue(id.Identity, id.Kind, pid)
}

// Setup and Shutdown have nothing to do: the cluster starts and stops the activator.
func (l lookup) Setup(*pcluster.Cluster, []string, bool) {}

// Shutdown does nothing.
func (l lookup) Shutdown() {}

// startActivator answers other members' requests for actors that are placed here.
func (c *Cluster) startActivator() error {
	if c.o.Activate == nil {
		return nil
	}
	props := actor.PropsFromFunc(func(ctx actor.Context) {
		ask, ok := ctx.Message().(*remote.ActorPidRequest)
		if !ok {
			return
		}
		pid, err := c.o.Activate(ask.Kind, ask.Name)
		if err != nil {
			ctx.Respond(&remote.ActorPidResponse{StatusCode: remote.ResponseStatusCodeUNAVAILABLE.ToInt32()})
			return
		}
		ctx.Respond(&remote.ActorPidResponse{Pid: pid})
	})
	pid, err := c.o.System.Root.SpawnNamed(props, activatorName)
	if err != nil {
		return fmt.Errorf("cluster: start the activator: %w", err)
	}
	c.activator = pid
	return nil
}

// Request sends a message to the actor of a kind and id, wherever it lives, and waits for the answer, for as long as ctx allows and 5 s at most. The
// message must be a protobuf message, since it may cross the network. One that fails because the member is gone is tried once more
// with the owner of that moment, so it may arrive twice.
func (c *Cluster) Request(ctx context.Context, kind, id string, message any) (any, error) {
	var lastErr error
	for range 2 {
		pid, err := lookup{c}.find(kind, id)
		if err != nil {
			lastErr = err
			continue
		}
		answer, err := c.ask(ctx, pid, message)
		if err == nil || ctx.Err() != nil {
			return answer, err
		}
		lastErr = err
	}
	return nil, fmt.Errorf("cluster: actor %s %s: %w", kind, id, lastErr)
}

// ask waits for one answer or the end of ctx.
func (c *Cluster) ask(ctx context.Context, pid *actor.PID, message any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer := make(chan any, 1)
	// A process of one message instead of a future: a future cannot be given up before its time is over.
	waiter := c.o.System.Root.Spawn(actor.PropsFromFunc(func(a actor.Context) {
		switch m := a.Message().(type) {
		case actor.SystemMessage, actor.AutoReceiveMessage:
		default:
			select {
			case answer <- m:
			default:
			}
		}
	}))
	defer c.o.System.Root.Stop(waiter)
	c.o.System.Root.RequestWithCustomSender(pid, message, waiter)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case m := <-answer:
		switch m := m.(type) {
		case *actor.DeadLetterResponse:
			return nil, actor.ErrDeadLetter
		default:
			return m, nil
		}
	}
}

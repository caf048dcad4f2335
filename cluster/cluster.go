// Package cluster makes the nodes of one Divan find each other and agree on where an actor lives (clause N1).
//
// Members are discovered by memberlist's gossip; their addresses travel in its metadata. Placement is rendezvous hashing over the
// members this node sees. Messages between members go through protoactor's remoting. The package knows nothing of databases, and nothing
// above it may rest correctness on it: two nodes can disagree on who is there, and the store's transactions decide.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	pcluster "github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
	"github.com/hashicorp/memberlist"
)

const (
	// debounce lets the events of one cause become one topology.
	debounce = 20 * time.Millisecond
	// rejoinEvery is how often lost members, and those of the join list that were never seen, are called.
	rejoinEvery = 3 * time.Second
	// firstRejoin is the pause after a failed first attempt to join: nodes that are started together find each other quickly.
	firstRejoin = 200 * time.Millisecond
	// tellWithin is what a member that leaves allows its goodbye to take, before it leaves placement and the cluster each.
	tellWithin = 400 * time.Millisecond
)

// Cluster is this node's membership. All methods are safe for concurrent use.
type Cluster struct {
	o         Options
	advertise net.IP
	transport *memberlist.NetTransport
	gossip    *memberlist.Memberlist
	remote    *remote.Remote
	proto     *pcluster.Cluster
	activator *actor.PID
	post      *actor.PID // nil where Options.Receive is

	letters chan letter              // for deliver; never closed
	placed  atomic.Pointer[[]Member] // the members that actors are placed on, by name; never modified

	wake       chan struct{} // capacity 1: there is something to look at in mu; never closed
	namesakes  chan struct{} // capacity 1: mu.namesakes may have some; never closed
	ending     atomic.Bool   // gossip is being shut down
	tellWithin time.Duration // how long a goodbye may take, twice
	said       said          // what the log has been told lately

	stop context.CancelFunc
	done sync.WaitGroup // the goroutines of this Cluster

	mu struct {
		sync.Mutex
		view        *view
		meta        metadata // what this member tells about itself
		stale       []staleMember
		packets     int  // of gossip, sent so far
		renew       bool // this member was given up by others and needs a new id
		subscribers map[chan struct{}]bool
		namesakes   []namesake             // others with this member's name, to be looked at
		clash       trouble                // one of them is alive
		claimed     bool                   // the store says that the name is this member's
		failing     map[string]joinFailure // by address: those that could not be joined
		stranger    trouble                // somebody with another secret
	}
}

// staleMember came back without knowing that it had been given up.
type staleMember struct {
	node memberlist.Node
	id   string
}

// Start opens the ports, joins, and returns a member. It takes some tens of milliseconds, plus up to a second for the first attempt to
// reach the join list; members that cannot be reached now are tried again in the background. Stop it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{o: o, tellWithin: tellWithin, wake: make(chan struct{}, 1), namesakes: make(chan struct{}, 1),
		letters: make(chan letter, postQueue)}
	c.mu.view = newView(o.Name, o.ProbeInterval)
	c.mu.subscribers = map[chan struct{}]bool{}
	c.mu.failing = map[string]joinFailure{}
	c.placed.Store(&[]Member{})
	if err := c.listen(); err != nil {
		return nil, err
	}
	c.mu.meta = metadata{ID: newID(), HTTP: o.HTTP, SQL: o.SQL, Remote: o.System.Address(), Version: o.Version,
		Roles: o.Roles, Store: o.Store}
	c.proto = pcluster.New(o.System, pcluster.Configure("divan", provider{c}, lookup{c}, nil))
	c.proto.Remote, c.proto.IdentityLookup = c.remote, lookup{c}
	if err := (provider{c}).StartMember(c.proto); err != nil {
		c.remote.Shutdown(false)
		return nil, errors.Join(err, c.transport.Shutdown())
	}
	running, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	err = errors.Join(c.startActivator(), c.startPost())
	if err == nil {
		err = c.claimName(ctx, running)
	}
	joined := false
	if err == nil {
		joined = c.tryJoin(ctx)
		if err = c.refuseNamesake(ctx); err == nil {
			err = c.confirmName(ctx)
		}
	}
	if err != nil {
		c.stop()
		c.done.Wait()
		c.ending.Store(true)
		c.remote.Shutdown(false)
		err = errors.Join(err, c.gossip.Shutdown())
		c.releaseName(context.WithoutCancel(ctx))
		return nil, err
	}
	c.publish()
	c.done.Go(func() { c.watch(running) })
	c.done.Go(func() { c.keepJoining(running, joined) })
	c.done.Go(func() { c.deliver(running) })
	c.done.Go(func() { c.lookForNamesakes(running) })
	return c, nil
}

// listen opens both ports, so that a port in use is an error before anything runs.
func (c *Cluster) listen() error {
	at, err := resolve(c.o.Gossip)
	if err != nil {
		return fmt.Errorf("cluster: gossip address %q: %w", c.o.Gossip, err)
	}
	if c.transport, err = c.listenGossip(at); err != nil {
		return err
	}
	c.advertise, _, err = c.transport.FinalAdvertiseAddr(c.o.Advertise, c.transport.GetAutoBindPort())
	if err != nil {
		return errors.Join(fmt.Errorf("cluster: find the address to advertise: %w", err), c.transport.Shutdown())
	}
	if err := c.listenRemote(&net.TCPAddr{IP: at.IP, Port: c.transport.GetAutoBindPort()}); err != nil {
		return errors.Join(err, c.transport.Shutdown())
	}
	return nil
}

// Stop leaves the cluster and releases the ports and the name: some 0.3 s in company, at most 2.5 s. The actors must
// have stopped before.
func (c *Cluster) Stop() error {
	c.stop()
	c.done.Wait()
	err := provider{c}.Shutdown(true)
	for _, pid := range []*actor.PID{c.activator, c.post} {
		if pid != nil {
			c.o.System.Root.Stop(pid)
		}
	}
	c.stopRemote()
	c.releaseName(context.Background())
	if err != nil {
		return fmt.Errorf("cluster: leave: %w", err)
	}
	return nil
}

// Addr is the gossip address, with the port that was picked.
func (c *Cluster) Addr() string {
	return (&net.TCPAddr{IP: c.advertise, Port: c.transport.GetAutoBindPort()}).String()
}

// Members lists all members this node knows of, itself included, by name: also those that left, for a day.
func (c *Cluster) Members() []Member {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.view.members(time.Now())
}

// Self is this member.
func (c *Cluster) Self() Member {
	for _, m := range c.Members() {
		if m.Self {
			return m
		}
	}
	return Member{Name: c.o.Name, Self: true}
}

// Owner is the member that the actor of a kind and id lives on, in this node's view. While this member leaves alone, it is this member.
func (c *Cluster) Owner(kind, id string) Member {
	if m, ok := place(*c.placed.Load(), kind, id); ok {
		return m
	}
	return c.Self()
}

// Owns reports whether Owner is this member.
func (c *Cluster) Owns(kind, id string) bool { return c.Owner(kind, id).Self }

// Subscribe returns a channel that receives after each change of placement; several changes may become one. Call cancel when done.
func (c *Cluster) Subscribe() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.subscribers[ch] = true
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.mu.subscribers, ch)
	}
}

// observe changes the view under its lock and has watch look at it.
func (c *Cluster) observe(f func(v *view, now time.Time)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.mu.view, time.Now())
	c.signal()
}

func (c *Cluster) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Cluster) encodeMetadata() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := json.Marshal(c.mu.meta)
	if err != nil {
		panic(err) // strings and a bool
	}
	return b
}

// newID names one life of a member.
func newID() string { return rand.Text()[:16] }

// sameMembers compares what placement and connections depend on.
func sameMembers(a, b []Member) bool {
	return slices.EqualFunc(a, b, func(x, y Member) bool { return x.ID == y.ID && x.Name == y.Name && x.Remote == y.Remote })
}

// Package cluster lets the nodes of one cluster find each other and agree on where each actor is placed (clause N1).
//
// memberlist's gossip discovers members and carries their addresses in its metadata. Placement is rendezvous hashing
// over the members that this node sees. Messages between members use protoactor's remoting. The package knows nothing
// of databases, and nothing above it may depend on it for correctness: two nodes can disagree on the members, and only
// the store's transactions decide.
//
// A Cluster consists of members (who is up, and where actors are placed), gossip (memberlist), joining (finding missing
// members), naming (ownership of the node's name), remoting, post (messages) and requests.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// debounce combines the events of one cause into one change of placement.
	debounce = 20 * time.Millisecond
	// rejoinEvery is how often lost members, and those in the join list that were never seen, are contacted.
	rejoinEvery = 3 * time.Second
	// firstRejoin is the pause after a failed first attempt to join. It is short, so that nodes started together find
	// each other quickly.
	firstRejoin = 200 * time.Millisecond
	// announceWithin is how long gossip may take for each of a leaving member's two announcements: that it leaves
	// placement, and that it leaves the cluster.
	announceWithin = 400 * time.Millisecond
)

// Cluster is this node's membership. All methods are safe for concurrent use.
type Cluster struct {
	o        Options
	members  *members
	gossip   *gossip
	joining  *joining
	naming   *naming
	remoting *remoting
	post     *post
	requests *requests
	said     *said // what was logged recently

	stop context.CancelFunc
	done sync.WaitGroup // this Cluster's goroutines
}

// Start opens the ports, joins, and returns a member. It takes some tens of milliseconds, plus up to a second for the
// first attempt to reach the join list. Members that cannot be reached are retried in the background. The caller must
// call Stop.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{o: o, said: &said{}}
	c.members = newMembers(&c.o)
	c.gossip = &gossip{o: &c.o, members: c.members, said: c.said, announceWithin: announceWithin}
	c.joining = newJoining(&c.o, c.members, c.gossip)
	c.naming = newNaming(&c.o, c.gossip, c.said)
	c.gossip.stranger, c.gossip.namesake = c.joining.noteStranger, c.naming.found
	c.gossip.refused, c.gossip.clash = c.naming.noteRefused, c.naming.noteClashOf
	if err := c.listen(); err != nil {
		return nil, err
	}
	c.members.setMetadata(metadata{ID: newID(), HTTP: o.HTTP, SQL: o.SQL, Remote: o.System.Address(),
		Version: o.Version, Roles: o.Roles, Store: o.Store})
	if err := c.gossip.start(); err != nil {
		c.remoting.shutdown()
		return nil, errors.Join(err, c.gossip.transport.Shutdown())
	}
	running, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.post, err = newPost(&c.o, c.members)
	if err == nil {
		c.requests, err = newRequests(running, &c.o, c.post)
	}
	if err == nil {
		err = c.claimName(ctx, running)
	}
	joined := false
	if err == nil {
		joined = c.joining.try(ctx)
		if err = c.naming.refuse(ctx); err == nil {
			err = c.naming.confirm(ctx)
		}
	}
	if err != nil {
		c.stop()
		c.done.Wait()
		c.requests.stop()
		c.remoting.shutdown()
		err = errors.Join(err, c.gossip.shutdown())
		c.naming.release(context.WithoutCancel(ctx))
		return nil, err
	}
	c.publish()
	c.done.Go(func() { c.watch(running) })
	c.done.Go(func() { c.gossip.outlive(running) })
	c.done.Go(func() { c.gossip.askOverdue(running) })
	c.done.Go(func() { c.joining.keep(running, joined) })
	c.done.Go(func() { c.post.deliver(running) })
	c.done.Go(func() { c.naming.look(running) })
	return c, nil
}

// claimName takes the name in the store, and holds it until running ends.
func (c *Cluster) claimName(ctx, running context.Context) error {
	if c.o.Claim == nil {
		return nil
	}
	claimed, err := c.naming.claim(ctx)
	if err == nil {
		c.done.Go(func() { c.naming.hold(running, claimed) })
	}
	return err
}

// listen opens both ports first, so that a port in use is an error before anything runs.
func (c *Cluster) listen() error {
	at, err := resolve(c.o.Gossip)
	if err != nil {
		return fmt.Errorf("cluster: gossip address %q: %w", c.o.Gossip, err)
	}
	if err := c.gossip.listen(at); err != nil {
		return err
	}
	neighbour := &net.TCPAddr{IP: at.IP, Port: c.gossip.transport.GetAutoBindPort()}
	if c.remoting, err = listenRemote(&c.o, c.gossip.advertise, neighbour); err != nil {
		return errors.Join(err, c.gossip.transport.Shutdown())
	}
	return nil
}

// Stop leaves the cluster and releases the ports and the name. If there are other members it takes some 0.3 s, a
// second longer if one of them cannot be reached, and at most 2.5 s. The actors must have stopped before.
func (c *Cluster) Stop() error {
	c.stop()
	c.done.Wait()
	c.requests.stop()
	err := c.gossip.leave()
	c.post.stop()
	c.remoting.stop(c.members.list())
	c.naming.release(context.Background())
	if err != nil {
		return fmt.Errorf("cluster: leave: %w", err)
	}
	return nil
}

// Addr returns the gossip address, with the port that was picked.
func (c *Cluster) Addr() string { return c.gossip.addr() }

// Members returns all known members by name, including this one, and those that left within the last day.
func (c *Cluster) Members() []Member { return c.members.list() }

// Self returns this member.
func (c *Cluster) Self() Member { return c.members.self() }

// Owner returns the member that the actor of a kind and id is placed on, in this node's view: one that is not excepted,
// if there is any other. If this member is alone and leaving, it is this member.
func (c *Cluster) Owner(kind, id string, except ...string) Member {
	members := *c.members.placed.Load()
	if len(except) > 0 {
		if m, ok := place(without(members, except), kind, id); ok {
			return m
		}
	}
	if m, ok := place(members, kind, id); ok {
		return m
	}
	return c.members.self()
}

// Owns reports whether Owner is this member.
func (c *Cluster) Owns(kind, id string) bool { return c.Owner(kind, id).Self }

// Forget removes a member that has left or was given up from this member's list, and stops looking for it, unless it
// was heard after a time. Nor is it learned from others again, unless they have heard it after that. It reports whether
// there was such a member.
func (c *Cluster) Forget(member string, unheardSince time.Time) (known bool) {
	c.members.ask(func(v *view) { known = v.forget(member, unheardSince) })
	return known
}

// Subscribe returns a channel that receives after each change of placement. Several changes may be combined. Call
// cancel when done.
func (c *Cluster) Subscribe() (changed <-chan struct{}, cancel func()) { return c.members.subscribe() }

// Send sends a message to another member, which receives it through Options.Receive: at most once, in order while the
// connection holds, and perhaps never, without an error. Send does not block, and owns the message from then on.
// Messages to an unknown member or to this one are dropped.
func (c *Cluster) Send(member string, message []byte) { c.post.send(member, message) }

// Request sends a request to another member, which answers it through Options.Answer, and returns the answer. It waits
// until ctx ends, which should be soon: a member that has died without a word never answers. A request is processed at
// most once. The error is ErrNotMember if there is no such member, and a *RequestError if the other member refused.
// Requests and answers are at most MaxMessage bytes long.
func (c *Cluster) Request(ctx context.Context, member string, request []byte) ([]byte, error) {
	return c.requests.request(ctx, member, request)
}

// watch turns events into placements, until ctx ends.
func (c *Cluster) watch(ctx context.Context) {
	tick := time.NewTicker(c.o.ProbeInterval)
	defer tick.Stop()
	settle := time.NewTimer(debounce)
	defer settle.Stop()
	c.members.begins()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.members.wake:
			c.members.tellEvents(c.o.Notify)
			settle.Reset(debounce)
		case <-settle.C:
			c.logOtherStores()
			c.publish()
			c.naming.ask()
		case <-tick.C:
			c.members.tellEvents(c.o.Notify)
		}
	}
}

// publish updates placement to the present members, and closes the connections to members that are gone.
func (c *Cluster) publish() {
	before, after, cut, changed := c.members.publish()
	for _, m := range cut {
		c.remoting.close(m)
	}
	if changed && c.o.Placed != nil {
		c.o.Placed(before, after)
	}
}

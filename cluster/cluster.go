// Package cluster makes the nodes of one Divan find each other and agree on where an actor lives (clause N1).
//
// Members are discovered by memberlist's gossip; their addresses travel in its metadata. Placement is rendezvous
// hashing over the members this node sees. Messages between members go through protoactor's remoting. The package knows
// nothing of databases, and nothing above it may rest correctness on it: two nodes can disagree on who is there, and
// the store's transactions decide.
//
// A Cluster is put together of parts: members (who is there, and where actors are placed), gossip (memberlist), joining
// (finding members that are missing), naming (whose the node's name is), remoting and post (messages).
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
	// debounce lets the events of one cause become one placement.
	debounce = 20 * time.Millisecond
	// rejoinEvery is how often lost members, and those of the join list that were never seen, are called.
	rejoinEvery = 3 * time.Second
	// firstRejoin is the pause after a failed first attempt to join: nodes that are started together find each other
	// quickly.
	firstRejoin = 200 * time.Millisecond
	// tellWithin is what a member that leaves allows its goodbye to take, before it leaves placement and the cluster
	// each.
	tellWithin = 400 * time.Millisecond
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
	said     *said // what the log has been told lately

	stop context.CancelFunc
	done sync.WaitGroup // the goroutines of this Cluster
}

// Start opens the ports, joins, and returns a member. It takes some tens of milliseconds, plus up to a second for the
// first attempt to reach the join list; members that cannot be reached now are tried again in the background. Stop it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Cluster{o: o, said: &said{}}
	c.members = newMembers(&c.o)
	c.gossip = &gossip{o: &c.o, members: c.members, said: c.said, tellWithin: tellWithin}
	c.joining = newJoining(&c.o, c.members, c.gossip)
	c.naming = newNaming(&c.o, c.gossip, c.said)
	c.gossip.stranger, c.gossip.namesake = c.joining.noteStranger, c.naming.found
	if err := c.listen(); err != nil {
		return nil, err
	}
	c.members.tells(metadata{ID: newID(), HTTP: o.HTTP, SQL: o.SQL, Remote: o.System.Address(), Version: o.Version,
		Roles: o.Roles, Store: o.Store})
	if err := c.gossip.start(); err != nil {
		c.remoting.remote.Shutdown(false)
		return nil, errors.Join(err, c.gossip.transport.Shutdown())
	}
	running, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.post, err = newPost(&c.o, c.members)
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
		c.remoting.remote.Shutdown(false)
		err = errors.Join(err, c.gossip.shutdown())
		c.naming.release(context.WithoutCancel(ctx))
		return nil, err
	}
	c.publish()
	c.done.Go(func() { c.watch(running) })
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

// listen opens both ports, so that a port in use is an error before anything runs.
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

// Stop leaves the cluster and releases the ports and the name: some 0.3 s in company, at most 2.5 s. The actors must
// have stopped before.
func (c *Cluster) Stop() error {
	c.stop()
	c.done.Wait()
	err := c.gossip.leave()
	c.post.stop()
	c.remoting.stop(c.members.list())
	c.naming.release(context.Background())
	if err != nil {
		return fmt.Errorf("cluster: leave: %w", err)
	}
	return nil
}

// Addr is the gossip address, with the port that was picked.
func (c *Cluster) Addr() string { return c.gossip.addr() }

// Members lists all members this node knows of, itself included, by name: also those that left, for a day.
func (c *Cluster) Members() []Member { return c.members.list() }

// Self is this member.
func (c *Cluster) Self() Member { return c.members.self() }

// Owner is the member that the actor of a kind and id lives on, in this node's view. While this member leaves alone, it
// is this member.
func (c *Cluster) Owner(kind, id string) Member {
	if m, ok := place(*c.members.placed.Load(), kind, id); ok {
		return m
	}
	return c.members.self()
}

// Owns reports whether Owner is this member.
func (c *Cluster) Owns(kind, id string) bool { return c.Owner(kind, id).Self }

// Subscribe returns a channel that receives after each change of placement; several changes may become one. Call cancel
// when done.
func (c *Cluster) Subscribe() (changed <-chan struct{}, cancel func()) { return c.members.subscribe() }

// Send sends a message to another member, which gets it by Options.Receive: at most once, in order while the connection
// holds, and perhaps never; nobody is told. It does not block and owns the message from then on. A member that is
// unknown, or is this one, gets nothing.
func (c *Cluster) Send(member string, message []byte) { c.post.send(member, message) }

// watch turns observations into placements, until ctx ends.
func (c *Cluster) watch(ctx context.Context) {
	tick := time.NewTicker(c.o.ProbeInterval)
	defer tick.Stop()
	settle := time.NewTimer(debounce)
	defer settle.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.members.wake:
			settle.Reset(debounce)
		case <-settle.C:
			c.gossip.tellStale()
			c.gossip.renewIfGivenUp()
			c.tellElsewheres()
			c.publish()
			c.naming.ask()
		case <-tick.C:
			// A process that stood still (stopped, swapped out, a laptop's lid) for longer than others wait was given
			// up by them.
			if pause := time.Since(last); pause > 8*c.o.ProbeInterval {
				c.o.Logger.Warn("this process stood still and was probably given up by the others",
					"seconds", pause.Seconds())
				c.members.givenUp()
			}
			last = time.Now()
		}
	}
}

// publish places actors on the present members, and closes the connections to those that have gone.
func (c *Cluster) publish() {
	if before, after, changed := c.members.publish(); changed {
		c.remoting.left(before, after)
	}
}

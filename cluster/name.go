package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// namesakeAsks is how often another member with this one's name is asked whether it is there. Questions may get
	// lost.
	namesakeAsks = 4
	// retakeEvery is how often a member that has lost its name looks whether it can have it back, and pauses after the
	// store has failed.
	retakeEvery = 5 * time.Second
	// releaseWithin is how long a member that ends may take to give its name back. A store that does not answer must
	// not keep it.
	releaseWithin = 300 * time.Millisecond
)

// Claim is this member's claim to its name, in the store that it shares with others. Gossip does not decide between
// members of one store: it takes its time, it tells of members that are about to refuse, and it does not reach
// everybody.
type Claim interface {
	// Take takes the name. holder is the gossip address of another member that has it and is alive, or empty. alive
	// reports whether a member of that name answers at a gossip address, and whether that is sure.
	Take(ctx context.Context, gossip string, alive func(gossip string) (alive, sure bool)) (holder string, err error)
	// Confirm makes sure of a name that was taken. holder is who has taken it since, or empty.
	Confirm(ctx context.Context) (holder string, err error)
	// Hold keeps the name until ctx ends, the store fails, or another member, holder, has taken it.
	Hold(ctx context.Context) (holder string, err error)
	// Release gives the name back if this member has it.
	Release(ctx context.Context) error
}

// namesake is another member with this one's name, as gossip tells of it.
type namesake struct {
	gossip string
	store  string // empty if it did not say
}

// claimName takes the name in the store, and holds it until running ends.
func (c *Cluster) claimName(ctx, running context.Context) error {
	if c.o.Claim == nil {
		return nil
	}
	holder, err := c.takeName(ctx)
	if holder != "" {
		return c.nameTaken(holder)
	}
	if err != nil {
		c.o.Logger.Warn("the node's name was not taken in the store", "error", err) // gossip says whether it is taken
	}
	c.done.Go(func() { c.holdName(running, err == nil) })
	return nil
}

// takeName notes whether the name is this member's.
func (c *Cluster) takeName(ctx context.Context) (holder string, err error) {
	holder, err = c.o.Claim.Take(ctx, c.Addr(), func(gossip string) (bool, bool) {
		return c.namesakeLives(ctx, gossip)
	})
	if err == nil && holder == "" {
		c.mu.Lock()
		c.mu.claimed, c.mu.clash = true, trouble{}
		c.mu.Unlock()
	}
	return holder, err
}

// confirmName is an error if another member has taken the name, because this one did not answer for a while.
func (c *Cluster) confirmName(ctx context.Context) error {
	c.mu.Lock()
	claimed := c.mu.claimed
	c.mu.Unlock()
	if !claimed {
		return nil
	}
	switch holder, err := c.o.Claim.Confirm(ctx); {
	case err != nil:
		c.o.Logger.Warn("the node's name was not confirmed in the store", "error", err)
	case holder != "":
		return c.nameTaken(holder)
	}
	return nil
}

// holdName keeps the name until ctx ends, or tries to take it if it is not claimed. It notes when another member has
// it.
func (c *Cluster) holdName(ctx context.Context, claimed bool) {
	for {
		var holder string
		var err error
		if claimed {
			holder, err = c.o.Claim.Hold(ctx)
		} else {
			holder, err = c.takeName(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.o.Logger.Debug("could not look at the node's name in the store", "error", err)
		case holder != "":
			claimed = false
			c.noteClash(holder, true)
		default:
			claimed = true
			continue
		}
		pause := time.NewTimer(retakeEvery)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// releaseName lets others have the name at once, without asking whether this member is there.
func (c *Cluster) releaseName(ctx context.Context) {
	if c.o.Claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	if err := c.o.Claim.Release(ctx); err != nil {
		c.o.Logger.Debug("the node's name was not released in the store", "error", err)
	}
}

func (c *Cluster) nameTaken(holder string) error {
	return fmt.Errorf("cluster: another node is called %s and answers at %s: give this one a name of its own",
		c.o.Name, holder)
}

// refuseNamesake is an error if joining has found a living member of this one's name.
func (c *Cluster) refuseNamesake(ctx context.Context) error {
	if other := c.livingNamesake(ctx); other != "" {
		return c.nameTaken(other)
	}
	return nil
}

// lookForNamesakes notes whether a namesake is alive, until ctx ends. It is apart from watch, as the answers take their
// time.
func (c *Cluster) lookForNamesakes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.namesakes:
		}
		if other := c.livingNamesake(ctx); other != "" {
			c.noteClash(other, false)
		}
	}
}

// noteClash notes that another member has this one's name, and tells the log. lost says that the store gives the name
// to that one.
func (c *Cluster) noteClash(other string, lost bool) {
	c.mu.Lock()
	c.mu.clash = trouble{time.Now(), other}
	c.mu.claimed = c.mu.claimed && !lost
	c.mu.Unlock()
	if reason := clashReason(c.o.Name, other); c.said.first(reason) {
		c.o.Logger.Error("two nodes have one name", "reason", reason)
	}
}

// livingNamesake is the address of one of the others that were found with this one's name and are alive. One that was
// killed and has come back as this member is not. Of members that share the store one has the name: if it is this one,
// the others refuse, or know that they have lost it.
func (c *Cluster) livingNamesake(ctx context.Context) string {
	c.mu.Lock()
	list, claimed := c.mu.namesakes, c.mu.claimed
	c.mu.namesakes = nil
	c.mu.Unlock()
	slices.SortFunc(list, func(a, b namesake) int {
		return strings.Compare(a.gossip+" "+a.store, b.gossip+" "+b.store)
	})
	for _, n := range slices.Compact(list) {
		if claimed && n.store != "" && n.store == c.o.Store {
			continue
		}
		if lives, _ := c.namesakeLives(ctx, n.gossip); lives {
			return n.gossip
		}
	}
	return ""
}

// namesakeLives asks whether a member of this one's name is there. It is sure that it is if it answers, and that it is
// not if nobody has the port. It takes up to some probe intervals.
func (c *Cluster) namesakeLives(ctx context.Context, gossip string) (alive, sure bool) {
	at, err := net.ResolveUDPAddr("udp", gossip)
	if err != nil || gossip == c.Addr() {
		return false, true
	}
	conn, err := (&net.Dialer{Timeout: c.o.ProbeInterval}).DialContext(ctx, "tcp", gossip)
	if err != nil {
		return false, errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // it was only a knock
	for range namesakeAsks {
		if ctx.Err() != nil {
			return false, false
		}
		// A member that has another name, or another secret, does not answer.
		if _, err := c.gossip.Ping(c.o.Name, at); err == nil {
			return true, true
		}
	}
	return false, false
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
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

// naming sees to it that this member's name is its own. Safe for concurrent use.
type naming struct {
	o      *Options
	gossip *gossip
	said   *said
	asked  chan struct{} // capacity 1: mu.namesakes may have some; never closed

	mu struct {
		sync.Mutex
		namesakes []namesake // others with this member's name, to be looked at
		clash     trouble    // one of them is alive
		claimed   bool       // the store says that the name is this member's
	}
}

func newNaming(o *Options, g *gossip, s *said) *naming {
	return &naming{o: o, gossip: g, said: s, asked: make(chan struct{}, 1)}
}

// claim takes the name in the store. It is an error where another member has it; where the store does not say, the name
// is not claimed, and gossip says whether it is taken.
func (n *naming) claim(ctx context.Context) (claimed bool, err error) {
	holder, err := n.take(ctx)
	if holder != "" {
		return false, n.taken(holder)
	}
	if err != nil {
		n.o.Logger.Warn("the node's name was not taken in the store", "error", err)
	}
	return err == nil, nil
}

// take notes whether the name is this member's.
func (n *naming) take(ctx context.Context) (holder string, err error) {
	holder, err = n.o.Claim.Take(ctx, n.gossip.addr(), func(gossip string) (bool, bool) {
		return n.lives(ctx, gossip)
	})
	if err == nil && holder == "" {
		n.mu.Lock()
		n.mu.claimed, n.mu.clash = true, trouble{}
		n.mu.Unlock()
	}
	return holder, err
}

// confirm is an error if another member has taken the name, because this one did not answer for a while.
func (n *naming) confirm(ctx context.Context) error {
	n.mu.Lock()
	claimed := n.mu.claimed
	n.mu.Unlock()
	if !claimed {
		return nil
	}
	switch holder, err := n.o.Claim.Confirm(ctx); {
	case err != nil:
		n.o.Logger.Warn("the node's name was not confirmed in the store", "error", err)
	case holder != "":
		return n.taken(holder)
	}
	return nil
}

// hold keeps the name until ctx ends, or tries to take it if it is not claimed. It notes when another member has
// it.
func (n *naming) hold(ctx context.Context, claimed bool) {
	for {
		var holder string
		var err error
		if claimed {
			holder, err = n.o.Claim.Hold(ctx)
		} else {
			holder, err = n.take(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.o.Logger.Debug("could not look at the node's name in the store", "error", err)
		case holder != "":
			claimed = false
			n.noteClash(holder, true)
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

// release lets others have the name at once, without asking whether this member is there.
func (n *naming) release(ctx context.Context) {
	if n.o.Claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	if err := n.o.Claim.Release(ctx); err != nil {
		n.o.Logger.Debug("the node's name was not released in the store", "error", err)
	}
}

func (n *naming) taken(holder string) error {
	return fmt.Errorf("cluster: another node is called %s and answers at %s: give this one a name of its own",
		n.o.Name, holder)
}

// refuse is an error if joining has found a living member of this one's name.
func (n *naming) refuse(ctx context.Context) error {
	if other := n.living(ctx); other != "" {
		return n.taken(other)
	}
	return nil
}

// look notes whether a namesake is alive, until ctx ends. It is apart from watch, as the answers take their
// time.
func (n *naming) look(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.asked:
		}
		if other := n.living(ctx); other != "" {
			n.noteClash(other, false)
		}
	}
}

// noteClash notes that another member has this one's name, and tells the log. lost says that the store gives the name
// to that one.
func (n *naming) noteClash(other string, lost bool) {
	n.mu.Lock()
	n.mu.clash = trouble{time.Now(), other}
	n.mu.claimed = n.mu.claimed && !lost
	n.mu.Unlock()
	if reason := clashReason(n.o.Name, other); n.said.first(reason) {
		n.o.Logger.Error("two nodes have one name", "reason", reason)
	}
}

// living is the address of one of the others that were found with this one's name and are alive. One that was
// killed and has come back as this member is not. Of members that share the store one has the name: if it is this one,
// the others refuse, or know that they have lost it.
func (n *naming) living(ctx context.Context) string {
	n.mu.Lock()
	list, claimed := n.mu.namesakes, n.mu.claimed
	n.mu.namesakes = nil
	n.mu.Unlock()
	slices.SortFunc(list, func(a, b namesake) int {
		return strings.Compare(a.gossip+" "+a.store, b.gossip+" "+b.store)
	})
	for _, x := range slices.Compact(list) {
		if claimed && x.store != "" && x.store == n.o.Store {
			continue
		}
		if lives, _ := n.lives(ctx, x.gossip); lives {
			return x.gossip
		}
	}
	return ""
}

// lives asks whether a member of this one's name is there. It is sure that it is if it answers, and that it is
// not if nobody has the port. It takes up to some probe intervals.
func (n *naming) lives(ctx context.Context, gossip string) (alive, sure bool) {
	at, err := net.ResolveUDPAddr("udp", gossip)
	if err != nil || gossip == n.gossip.addr() {
		return false, true
	}
	conn, err := (&net.Dialer{Timeout: n.o.ProbeInterval}).DialContext(ctx, "tcp", gossip)
	if err != nil {
		return false, errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // it was only a knock
	for range namesakeAsks {
		if ctx.Err() != nil {
			return false, false
		}
		// A member that has another name, or another secret, does not answer.
		if _, err := n.gossip.list.Ping(n.o.Name, at); err == nil {
			return true, true
		}
	}
	return false, false
}

// found notes another member with this one's name. It does not block.
func (n *naming) found(gossip, store string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.namesakes = append(n.mu.namesakes, namesake{gossip, store})
}

// ask has look look at those that were found.
func (n *naming) ask() {
	select {
	case n.asked <- struct{}{}:
	default: // it is asked for already
	}
}

// clashes is the other member with this one's name, where one is alive or was lately.
func (n *naming) clashes(now time.Time) (other string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mu.clash.with, n.mu.clash.lasts(now)
}

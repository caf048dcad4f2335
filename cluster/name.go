package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// namesakeAsks is how often another member with this one's name is asked whether it is alive, since questions may
	// get lost.
	namesakeAsks = 4
	// retakeEvery is how often a member that has lost its name tries to get it back, and how long it pauses after the
	// store has failed.
	retakeEvery = 5 * time.Second
	// releaseWithin is how long a stopping member may take to give its name back. A store that does not answer must not
	// delay the stop.
	releaseWithin = 300 * time.Millisecond
)

// Claim is this member's claim to its name in the store that it shares with others. Between members of one store gossip
// does not decide: it is slow, it also reports members that are about to refuse to start, and it does not reach
// everyone.
type Claim interface {
	// Take takes the name. holder is the gossip address of another live member that has it, or empty. alive reports
	// whether a member of that name answers at a gossip address, and whether that is certain.
	Take(ctx context.Context, gossip string, alive func(gossip string) (alive, sure bool)) (holder string, err error)
	// Confirm checks that a name that was taken is still this member's. holder is who has taken it since, or empty.
	Confirm(ctx context.Context) (holder string, err error)
	// Hold keeps the name until ctx ends, the store fails, or another member, holder, has taken it.
	Hold(ctx context.Context) (holder string, err error)
	// Release gives the name back if this member has it.
	Release(ctx context.Context) error
}

// namesake is another member with this one's name, seen through gossip.
type namesake struct {
	gossip string
	store  string // empty if unknown
}

// naming ensures that this member's name is unique. It is safe for concurrent use.
type naming struct {
	o      *Options
	gossip *gossip
	said   *said
	asked  chan struct{} // capacity 1: mu.namesakes may have entries; never closed

	mu struct {
		sync.Mutex
		namesakes []namesake         // others with this member's name, to be checked
		clash     trouble            // one of them is alive
		clashes   map[string]trouble // by name: other nodes that say that they are not the only ones with it
		refused   refusals           // of those that have not started because of this member
		claimed   bool               // the store has recorded the name as this member's
		lost      bool               // the store has another member with it, as far as this one knows
	}
}

func newNaming(o *Options, g *gossip, s *said) *naming {
	return &naming{o: o, gossip: g, said: s, asked: make(chan struct{}, 1)}
}

// claim takes the name in the store. It returns an error if another member has it. If the store does not answer, the
// name remains unclaimed, and gossip decides whether it is taken.
func (n *naming) claim(ctx context.Context) (claimed bool, err error) {
	holder, err := n.take(ctx)
	if holder != "" {
		return false, n.taken(holder)
	}
	if err != nil {
		n.o.Logger.Warn("the node's name could not be claimed in the store", "error", err)
	}
	return err == nil, nil
}

// take takes the name, and records whether it is this member's.
func (n *naming) take(ctx context.Context) (holder string, err error) {
	holder, err = n.o.Claim.Take(ctx, n.gossip.addr(), func(gossip string) (bool, bool) {
		return n.lives(ctx, gossip)
	})
	if err == nil && holder == "" {
		n.mu.Lock()
		n.mu.claimed, n.mu.lost, n.mu.clash = true, false, trouble{}
		n.mu.Unlock()
	}
	return holder, err
}

// confirm returns an error if another member has taken the name, because this one did not answer for a while.
func (n *naming) confirm(ctx context.Context) error {
	n.mu.Lock()
	claimed := n.mu.claimed
	n.mu.Unlock()
	if !claimed {
		return nil
	}
	switch holder, err := n.o.Claim.Confirm(ctx); {
	case err != nil:
		n.o.Logger.Warn("the node's name could not be confirmed in the store", "error", err)
	case holder != "":
		return n.taken(holder)
	}
	return nil
}

// hold keeps the name until ctx ends, or tries to take it if it is not claimed. It records when another member has it.
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
			n.o.Logger.Debug("could not check the node's name in the store", "error", err)
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

// release gives the name back, so that others can take it at once, without asking whether this member is alive.
func (n *naming) release(ctx context.Context) {
	if n.o.Claim == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, releaseWithin)
	defer cancel()
	if err := n.o.Claim.Release(ctx); err != nil {
		n.o.Logger.Debug("the node's name could not be released in the store", "error", err)
	}
}

// taken tells the holder of the name that this member does not start because of it, and returns an error that says so.
func (n *naming) taken(holder string) error {
	if err := n.gossip.send(holder, notice{Refused: n.gossip.addr(), Name: n.o.Name}); err != nil {
		n.o.Logger.Debug("could not tell the node with this name", "address", holder, "error", err)
	}
	return fmt.Errorf("cluster: another node is called %s and answers at %s: give this one a unique name",
		n.o.Name, holder)
}

// refuse returns an error if joining has found a live member with this one's name.
func (n *naming) refuse(ctx context.Context) error {
	if other := n.living(ctx); other != "" {
		return n.taken(other)
	}
	return nil
}

// look checks whether namesakes are alive, until ctx ends. It does not run in watch, because answers take time.
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

// noteClash records and logs that another member has this one's name. lost means that the store has given the name to
// that member.
func (n *naming) noteClash(other string, lost bool) {
	n.mu.Lock()
	now := time.Now()
	if !n.mu.clash.lasts(now) {
		n.gossip.members.add(Event{Kind: NameClash, At: now, Member: n.o.Name, Address: other})
	}
	n.mu.clash = trouble{now, other}
	n.mu.claimed, n.mu.lost = n.mu.claimed && !lost, n.mu.lost || lost
	reason := n.clashOf(n.o.Name, other)
	n.mu.Unlock()
	if n.said.first(reason) {
		n.o.Logger.Error("two nodes have the same name", "event", NameClash, "reason", reason)
	}
	n.tellClash(other)
}

// tellClash tells the other members, and the node that has this one's name too, that there are two of that name: to
// them the one that gossip knows is a member, and the other one nothing. It takes at most a second.
func (n *naming) tellClash(other string) {
	var telling sync.WaitGroup
	defer telling.Wait()
	to := []string{other}
	n.gossip.members.ask(func(v *view) { to = append(to, v.addresses()...) })
	slices.Sort(to)
	note := notice{Clash: n.gossip.addr(), Name: n.o.Name}
	for _, address := range slices.Compact(to) {
		telling.Go(func() {
			if err := n.gossip.send(address, note); err != nil {
				n.o.Logger.Debug("could not tell a member of the clash of names", "address", address, "error", err)
			}
		})
	}
}

// mostClashes bounds what is remembered of clashes that others tell of.
const mostClashes = 16

// noteClashOf records that a node at a gossip address says that another one has its name.
func (n *naming) noteClashOf(name string, at netip.AddrPort) {
	if at = netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()); at.String() == n.gossip.addr() ||
		name == "" || len(name) > longestName {
		return
	}
	n.mu.Lock()
	now := time.Now()
	maps.DeleteFunc(n.mu.clashes, func(_ string, t trouble) bool { return !t.lasts(now) })
	_, known := n.mu.clashes[name]
	if !known && len(n.mu.clashes) == mostClashes {
		n.mu.Unlock()
		return
	}
	if n.mu.clashes == nil {
		n.mu.clashes = map[string]trouble{}
	}
	n.mu.clashes[name] = trouble{now, at.String()}
	reason := n.clashOf(name, at.String())
	n.mu.Unlock()
	if known {
		return
	}
	n.gossip.members.add(Event{Kind: NameClash, At: now, Member: name, Address: at.String()})
	if n.said.first(reason) {
		n.o.Logger.Error("two nodes have the same name", "event", NameClash, "reason", reason)
	}
}

// clashOf is the reason for a clash of two nodes with a name, one of which answers at an address. The one that has the
// name in the store says the same as the others. The caller holds the lock.
func (n *naming) clashOf(name, at string) string {
	const advice = ": stop one of them and give it a unique name"
	switch {
	case name != n.o.Name || n.mu.claimed:
		return fmt.Sprintf("name_clash: two nodes are called %s, one of which answers at %s", name, at) + advice
	case n.mu.lost:
		at += ", so that this one is not a member"
	}
	return fmt.Sprintf("name_clash: another node is called %s too, and answers at %s", name, at) + advice
}

// noteRefused records that a node with this one's name has not started because of that.
func (n *naming) noteRefused(at netip.AddrPort) {
	host := at.Addr().Unmap().WithZone("") // a zone means nothing here, and may be any text
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := time.Now(); n.mu.refused.first(now, host) {
		n.gossip.members.add(Event{Kind: NameRefused, At: now, Member: n.o.Name,
			Address: netip.AddrPortFrom(host, at.Port()).String()})
	}
}

const (
	// refusalLasts is how long a host is remembered after a node on it was refused. What starts such a node again and
	// again pauses up to some minutes.
	refusalLasts = 10 * time.Minute
	// mostRefusals is how many hosts are remembered. The addresses are what senders claim, so that they must not cause
	// any number of events.
	mostRefusals = 5
)

// refusals are the hosts on which nodes with this one's name were refused recently, and when they were last.
type refusals map[netip.Addr]time.Time

// first reports whether a refusal is to be told: of each host once, as long as it repeats, also if the port is another
// one each time. While too many hosts are remembered, those of further ones are not told.
func (r *refusals) first(now time.Time, host netip.Addr) bool {
	maps.DeleteFunc(*r, func(_ netip.Addr, last time.Time) bool { return now.Sub(last) >= refusalLasts })
	_, known := (*r)[host]
	if !known && len(*r) == mostRefusals {
		return false
	}
	if *r == nil {
		*r = refusals{}
	}
	(*r)[host] = now
	return !known
}

// living returns the address of a live member with this one's name, or "". A killed member that returned as this one
// does not count. Of members that share the store only one has the name. If it is this one, the others refuse to start,
// or know that they have lost it.
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

// lives asks whether a member with this one's name is alive at an address. sure is true if it answers, or if the port
// is not open. It takes up to several probe intervals.
func (n *naming) lives(ctx context.Context, gossip string) (alive, sure bool) {
	at, err := net.ResolveUDPAddr("udp", gossip)
	if err != nil || gossip == n.gossip.addr() {
		return false, true
	}
	conn, err := n.gossip.transport.DialTimeout(gossip, n.o.ProbeInterval)
	if err != nil {
		return false, errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = conn.Close() // only checks that the port is open
	for range namesakeAsks {
		if ctx.Err() != nil {
			return false, false
		}
		// A member with another name or another secret does not answer.
		if _, err := n.gossip.list.Ping(n.o.Name, at); err == nil {
			return true, true
		}
	}
	return false, false
}

// found records another member with this one's name. It does not block.
func (n *naming) found(gossip, store string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.namesakes = append(n.mu.namesakes, namesake{gossip, store})
}

// ask wakes look.
func (n *naming) ask() {
	select {
	case n.asked <- struct{}{}:
	default: // already awake
	}
}

// degraded returns which nodes have the same name, if they are or were recently alive.
func (n *naming) degraded(now time.Time) (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.lost || n.mu.clash.lasts(now) {
		list = append(list, n.clashOf(n.o.Name, n.mu.clash.with))
	}
	for _, name := range slices.Sorted(maps.Keys(n.mu.clashes)) {
		if t := n.mu.clashes[name]; t.lasts(now) && (name != n.o.Name || len(list) == 0) {
			list = append(list, n.clashOf(name, t.with))
		}
	}
	return list
}

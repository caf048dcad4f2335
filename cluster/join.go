package cluster

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// joinPatience is how long an address in the join list may fail to answer before that is reported. Nodes that are
// started together need a moment.
const joinPatience = 5 * time.Second

// joining contacts members that should be up but are missing. It is safe for concurrent use.
type joining struct {
	o       *Options
	members *members
	gossip  *gossip

	mu struct {
		sync.Mutex
		failing   map[string]joinFailure // addresses that could not be joined
		strangers map[string]time.Time   // hosts of nodes with another secret, and when they were last seen
	}
}

func newJoining(o *Options, m *members, g *gossip) *joining {
	j := &joining{o: o, members: m, gossip: g}
	j.mu.failing, j.mu.strangers = map[string]joinFailure{}, map[string]time.Time{}
	return j
}

// joinFailure is a failed attempt to join an address.
type joinFailure struct {
	since  time.Time
	known  bool // the address is that of a member that was up before, so it has merely gone
	secret secretState
	err    error
	told   bool // it was logged
}

// keep contacts missing members: those in the join list that were never seen, and those lost to a network that may
// recover, since two halves of a split cluster do not look for each other.
func (j *joining) keep(ctx context.Context, joined bool) {
	pause := rejoinEvery
	if !joined {
		pause = firstRejoin
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			if j.try(ctx) {
				pause = rejoinEvery
			} else {
				pause = min(2*pause, rejoinEvery)
			}
			timer.Reset(pause)
		}
	}
}

// try contacts all missing members one after the other, and reports whether none is missing any more. Each contact
// takes at most a second.
func (j *joining) try(ctx context.Context) bool {
	missing, known := j.missing()
	complete := true
	for _, address := range missing {
		if ctx.Err() != nil {
			return false
		}
		err := j.gossip.join(address)
		complete = complete && err == nil
		j.joined(address, known[address], err)
	}
	return complete
}

// missing returns the addresses of members to contact. known has those that were up before.
func (j *joining) missing() (missing []string, known map[string]bool) {
	self := j.gossip.addr()
	known = map[string]bool{}
	j.members.ask(func(v *view) {
		for _, address := range j.o.Join {
			at, err := resolve(address)
			if err == nil && (at.String() == self || v.knows(at.String())) {
				continue
			}
			missing = append(missing, address)
			known[address] = err == nil && v.seen(at.String())
		}
		for _, address := range v.lost(time.Now()) {
			missing = append(missing, address)
			known[address] = true
		}
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	for address := range j.mu.failing {
		if !slices.Contains(missing, address) {
			delete(j.mu.failing, address)
		}
	}
	return missing, known
}

// joined records the result of an attempt to join, and logs what an operator must know.
func (j *joining) joined(address string, known bool, err error) {
	if err != nil {
		j.o.Logger.Debug("could not reach a member", "address", address, "error", err)
	}
	switch reason, after := j.note(address, known, err); {
	case reason != "":
		j.o.Logger.Error("this node does not see another node", "reason", reason)
	case after:
		j.o.Logger.Info("joined a member that could not be reached before", "address", address)
	}
}

// note records the result of an attempt to join. reason is to be logged, and empty if it was logged already or there is
// none. after is true if a failure that was logged is over.
func (j *joining) note(address string, known bool, err error) (reason string, after bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, failing := j.mu.failing[address]
	if err == nil {
		delete(j.mu.failing, address)
		return "", before.told
	}
	now := time.Now()
	f := joinFailure{since: before.since, known: known, secret: secretFault(err.Error()), err: shortError(err)}
	if !failing {
		f.since = now
	}
	f.told = before.told && before.secret == f.secret
	if !f.told {
		reason = f.reason(address, now)
		f.told = reason != ""
	}
	j.mu.failing[address] = f
	return reason, false
}

// reason returns "" if there is nothing to report, or not yet.
func (f joinFailure) reason(address string, now time.Time) string {
	switch {
	case f.secret != secretSame:
		return f.secret.reason(address)
	case f.known, now.Sub(f.since) < joinPatience:
		return ""
	}
	return fmt.Sprintf("join_failed: no member answers at %s, which is listed in cluster.join (%v): start it, or "+
		"correct the address", address, f.err)
}

// shortError returns the last line of memberlist's wrapped errors.
func shortError(err error) error {
	text := strings.TrimSpace(err.Error())
	if i := strings.LastIndex(text, "* "); i >= 0 {
		text = text[i+2:]
	}
	return fmt.Errorf("%s", strings.Join(strings.Fields(text), " "))
}

// maxStrangers bounds the hosts that are remembered: anyone who reaches the port is a stranger.
const maxStrangers = 64

// noteStranger records that a node on a host has another secret. The port of an address would say nothing: it is that
// of one connection. So several such nodes of one host are one.
func (j *joining) noteStranger(from string) {
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(j.mu.strangers, func(_ string, seen time.Time) bool { return now.Sub(seen) >= troubleLasts })
	_, known := j.mu.strangers[from]
	if !known && len(j.mu.strangers) >= maxStrangers {
		return
	}
	j.mu.strangers[from] = now
	if !known {
		j.members.add(Event{Kind: WrongSecret, At: now, Address: from})
	}
}

// degraded returns which members cannot be joined, and why. others is how many this member sees.
func (j *joining) degraded(now time.Time, others int) (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(j.mu.failing)) {
		if reason := j.mu.failing[address].reason(address, now); reason != "" {
			list = append(list, reason)
		}
	}
	if others > 0 || len(list) > 0 {
		return list
	}
	for _, host := range slices.Sorted(maps.Keys(j.mu.strangers)) {
		if now.Sub(j.mu.strangers[host]) < troubleLasts {
			return append(list, fmt.Sprintf("gossip_secret: a node at %s contacts this node with a different "+
				"cluster.secret, and this node sees no other members: give all nodes the same", host))
		}
	}
	return list
}

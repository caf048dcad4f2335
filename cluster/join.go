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
		strangers map[string]stranger    // hosts of nodes with another secret
	}
}

func newJoining(o *Options, m *members, g *gossip) *joining {
	j := &joining{o: o, members: m, gossip: g}
	j.mu.failing, j.mu.strangers = map[string]joinFailure{}, map[string]stranger{}
	return j
}

// stranger is when a node with another secret, on one host, was seen first and last.
type stranger struct{ first, last time.Time }

// contact is a member to contact.
type contact struct {
	address string // as it is configured
	at      string // with an IP; empty if that is not known
}

// joinFailure are failed attempts to join an address.
type joinFailure struct {
	since  time.Time // the first one
	last   time.Time
	at     string // of the contact
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
	complete := true
	for _, m := range j.missing() {
		if ctx.Err() != nil {
			return false
		}
		err := j.gossip.join(m.address)
		complete = complete && err == nil
		j.joined(m, err)
	}
	return complete
}

// missing returns the members to contact.
func (j *joining) missing() (missing []contact) {
	self := j.gossip.addr()
	j.members.ask(func(v *view) {
		for _, address := range j.o.Join {
			at, err := resolve(address)
			if err != nil {
				missing = append(missing, contact{address: address})
			} else if at.String() != self && !v.knows(at.String(), false) {
				missing = append(missing, contact{address, at.String()})
			}
		}
		for _, address := range v.lost(time.Now()) {
			missing = append(missing, contact{address, address})
		}
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	for address := range j.mu.failing {
		if !slices.ContainsFunc(missing, func(m contact) bool { return m.address == address }) {
			delete(j.mu.failing, address)
		}
	}
	return missing
}

// joined records the result of an attempt to join, and logs what an operator must know.
func (j *joining) joined(to contact, err error) {
	if err != nil {
		j.o.Logger.Debug("could not reach a member", "address", to.address, "error", err)
	}
	switch reason, after := j.note(to, err); {
	case reason != "":
		j.o.Logger.Error("this node does not see another node", "reason", reason)
	case after:
		j.o.Logger.Info("joined a member that could not be reached before", "address", to.address)
	}
}

// note records the result of an attempt to join. reason is to be logged, and empty if it was logged already or there is
// none. after is true if a failure that was logged is over.
func (j *joining) note(to contact, err error) (reason string, after bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	before, failing := j.mu.failing[to.address]
	if err == nil {
		delete(j.mu.failing, to.address)
		return "", before.told
	}
	now := time.Now()
	f := joinFailure{since: before.since, last: now, at: to.at, secret: secretFault(err.Error()), err: shortError(err)}
	if !failing {
		f.since = now
	}
	f.told = before.told && before.secret == f.secret
	if !f.told {
		reason = j.reason(to.address, f)
		f.told = reason != ""
	}
	j.mu.failing[to.address] = f
	return reason, false
}

// reason returns "" if there is nothing to report, or not yet: a member may have come by itself since the last attempt.
// One that was up before has merely gone.
func (j *joining) reason(address string, f joinFailure) string {
	seen := false
	j.members.ask(func(v *view) { seen = f.at != "" && v.knows(f.at, true) })
	switch {
	case f.secret != secretSame:
		return f.secret.reason(address)
	case seen, f.last.Sub(f.since) < joinPatience:
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

// strangerPatience is for how long a node with another secret may contact one that sees other members before that is
// reported: anyone may send something once. A node tries to join every few seconds.
const strangerPatience = 5 * time.Second

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
	maps.DeleteFunc(j.mu.strangers, func(_ string, s stranger) bool { return now.Sub(s.last) >= troubleLasts })
	s, known := j.mu.strangers[from]
	if !known && len(j.mu.strangers) >= maxStrangers {
		return
	}
	if s.last = now; !known {
		s.first = now
	}
	j.mu.strangers[from] = s
	if !known {
		j.members.add(Event{Kind: WrongSecret, At: now, Address: from})
	}
}

// degraded returns which members cannot be joined, and why. others is how many this member sees.
func (j *joining) degraded(now time.Time, others int) (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(j.mu.failing)) {
		if reason := j.reason(address, j.mu.failing[address]); reason != "" {
			list = append(list, reason)
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, host := range slices.Sorted(maps.Keys(j.mu.strangers)) {
		switch s := j.mu.strangers[host]; {
		case now.Sub(s.last) >= troubleLasts:
		case others == 0:
			return append(list, fmt.Sprintf("gossip_secret: a node at %s contacts this node with a different "+
				"cluster.secret, and this node sees no other members: give all nodes the same", host))
		case s.last.Sub(s.first) >= strangerPatience:
			return append(list, fmt.Sprintf("gossip_secret: a node at %s contacts this cluster again and again with a "+
				"different cluster.secret: give it the same, or stop it", host))
		}
	}
	return list
}

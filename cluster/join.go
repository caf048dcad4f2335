package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// joinPatience is for how long an address of the join list may not answer before somebody is told: nodes that are
// started together need a moment.
const joinPatience = 5 * time.Second

// joining finds the members that should be there and are not. Safe for concurrent use.
type joining struct {
	o       *Options
	members *members
	gossip  *gossip

	mu struct {
		sync.Mutex
		failing  map[string]joinFailure // by address: those that could not be joined
		stranger trouble                // somebody with another secret
	}
}

func newJoining(o *Options, m *members, g *gossip) *joining {
	j := &joining{o: o, members: m, gossip: g}
	j.mu.failing = map[string]joinFailure{}
	return j
}

// joinFailure is an address that could not be joined.
type joinFailure struct {
	since  time.Time
	known  bool // it is that of a member that was up once: it has gone, and that is all
	secret secretState
	err    error
	told   bool // to the log
}

// keep calls members that should be there and are not: those of the join list never seen, and those lost to a network
// that may heal, since two halves of a split cluster do not look for each other by themselves.
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

// try calls everybody missing, one after the other, and reports whether none is missing any more. Each call takes at
// most a second.
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

// missing lists the addresses of members to call. known are those of them that were up once.
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

// joined notes how an attempt to join ended, and tells the log what an operator has to know.
func (j *joining) joined(address string, known bool, err error) {
	if err != nil {
		j.o.Logger.Debug("could not reach a member", "address", address, "error", err)
	}
	switch reason, after := j.note(address, known, err); {
	case reason != "":
		j.o.Logger.Error("this node does not see another one", "reason", reason)
	case after:
		j.o.Logger.Info("joined after all", "address", address)
	}
}

// note notes how an attempt to join ended. reason is for the log, empty where it has been told or there is nothing
// to tell; after says that a failure that the log was told of is over.
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

// reason is empty where there is nothing to tell, or not yet.
func (f joinFailure) reason(address string, now time.Time) string {
	switch {
	case f.secret != secretSame:
		return f.secret.reason(address)
	case f.known, now.Sub(f.since) < joinPatience:
		return ""
	}
	return fmt.Sprintf("join_failed: no member answers at %s, which is in cluster.join (%v): start it, or correct "+
		"the address", address, f.err)
}

// shortError is the last of memberlist's wrapped lines.
func shortError(err error) error {
	text := strings.TrimSpace(err.Error())
	if i := strings.LastIndex(text, "* "); i >= 0 {
		text = text[i+2:]
	}
	return fmt.Errorf("%s", strings.Join(strings.Fields(text), " "))
}

// noteStranger notes that somebody at an address has another secret.
func (j *joining) noteStranger(from string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.stranger = trouble{time.Now(), from}
}

// degraded says which members cannot be joined, and why. others is how many this member sees.
func (j *joining) degraded(now time.Time, others int) (list []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(j.mu.failing)) {
		if reason := j.mu.failing[address].reason(address, now); reason != "" {
			list = append(list, reason)
		}
	}
	if j.mu.stranger.lasts(now) && others == 0 && len(list) == 0 {
		list = append(list, fmt.Sprintf("gossip_secret: somebody at %s calls this node with another cluster.secret, "+
			"and it sees nobody else: give all nodes the same", j.mu.stranger.with))
	}
	return list
}

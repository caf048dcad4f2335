package cluster

import (
	"context"
	"strings"
	"time"
)

// A member that has left tells each other one in a notice, since packets of gossip are lost. What gossip still says of
// that run of it is older and does not count. But a notice is not proof: it does not say who sent it, and the member it
// is about neither hears of it nor can contradict it. So it is checked. A member that memberlist still lists some time
// later, and that answers, has not left.

// leftHolds is for how long a notice that a member has left is not checked. It is longer than Stop takes, during which
// a leaving member answers.
const leftHolds = 4 * time.Second

// saysLeft records a notice that the member with an id has left, after it had been up for so many milliseconds. It
// changes nothing if the member is known to have restarted or to have renewed its id since.
func (v *view) saysLeft(now time.Time, id string, up int64) {
	if run, _, _ := strings.Cut(id, "."); run == "" {
		return // would be that of all members whose metadata is not understood
	}
	for name, e := range v.entries {
		if name != v.self && sameRun(e.meta.ID, id) && renewals(id) >= renewals(e.meta.ID) {
			e.saidLeft = true
			e.saysUp(now, up)
			v.giveUp(now, name)
		}
	}
}

// leaver is a member that is said to have left.
type leaver struct{ name, address, id string }

// dubious lists the members that are said to have left, but that memberlist still lists some time later.
func (v *view) dubious(now time.Time) (list []leaver) {
	for name, e := range v.entries {
		if e.saidLeft && e.listed && now.Sub(e.left) >= leftHolds {
			list = append(list, leaver{name, e.gossip, e.meta.ID})
		}
	}
	return list
}

// checkLeft contacts the members that are dubious. If one answers, and is still listed after it has told what it knows
// of itself, it is a member again.
func (g *gossip) checkLeft(ctx context.Context) {
	var list []leaver
	g.members.ask(func(v *view) { list = v.dubious(time.Now()) })
	for _, l := range list {
		if ctx.Err() != nil {
			return
		}
		if err := g.join(l.address); err != nil {
			g.o.Logger.Debug("could not reach a member that is said to have left", "member", l.name, "error", err)
			continue
		}
		if g.readmit(l) {
			g.o.Logger.Warn("a member that was said to have left has not", "member", l.name)
		}
	}
}

// readmit makes a dubious member a member again, if it still is dubious. It is told that it had been given up.
func (g *gossip) readmit(l leaver) (readmitted bool) {
	m := g.members
	m.observe(func(v *view, now time.Time) {
		e := v.entries[l.name]
		if e == nil || !e.saidLeft || !e.listed || e.meta.ID != l.id {
			return
		}
		e.saidLeft, readmitted = false, true
		m.saw(l.name, e.gossip, e.meta, now)
	})
	return readmitted
}

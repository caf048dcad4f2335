package cluster

import (
	"time"

	"github.com/hashicorp/memberlist"
)

// delegate has the callbacks of memberlist, which calls them from its own goroutines, partly with its lock held. They
// must not call memberlist.
type delegate struct{ g *gossip }

var (
	_ memberlist.Delegate         = delegate{}
	_ memberlist.EventDelegate    = delegate{}
	_ memberlist.PingDelegate     = delegate{}
	_ memberlist.ConflictDelegate = delegate{}
)

func (d delegate) NodeMeta(limit int) []byte { return encodeMetadata(d.g.members.metadata()) }

func (d delegate) NotifyJoin(n *memberlist.Node) {
	d.g.members.observe(func(_ *view, now time.Time) {
		d.g.members.saw(n.Name, n.Address(), decodeMetadata(n.Meta), now)
	})
}

func (d delegate) NotifyUpdate(n *memberlist.Node) { d.NotifyJoin(n) }

func (d delegate) NotifyLeave(n *memberlist.Node) {
	m := d.g.members
	m.observe(func(v *view, now time.Time) {
		if v.unlisted(now, n.Name) { // if it lives, it contradicts
			m.meets(n.Name, n.Address())
		}
	})
}

func (d delegate) NotifyPingComplete(n *memberlist.Node, rtt time.Duration, payload []byte) {
	m := d.g.members
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.runs(now)
	if m.mu.view.answered(now, n.Name, string(payload)) {
		m.meets(n.Name, n.Address())
	}
}

// AckPayload tells who asks which run of this member answers, for NotifyPingComplete.
func (d delegate) AckPayload() []byte {
	m := d.g.members
	m.mu.Lock()
	defer m.mu.Unlock()
	return []byte(m.mu.meta.ID)
}

func (d delegate) NotifyConflict(existing, other *memberlist.Node) {
	if existing.Name != d.g.o.Name {
		// The other member is told separately, unless the first was killed and has returned elsewhere before anyone
		// noticed.
		if d.g.said.first(existing.Name + existing.Address() + other.Address()) {
			d.g.o.Logger.Warn("two addresses announce the same member name", "member", existing.Name,
				"known_at", existing.Address(), "refused", other.Address())
		}
		return
	}
	d.g.namesake(other.Address(), decodeMetadata(other.Meta).Store)
	d.g.members.signal()
}

// GetBroadcasts is called for each packet of gossip, after memberlist's own broadcasts. It adds nothing and only counts
// packets.
func (d delegate) GetBroadcasts(overhead, limit int) [][]byte {
	m := d.g.members
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.packets++
	if m.mu.meta.Leaving {
		m.signal()
	}
	return nil
}

// LocalState is what this member adds when it exchanges everything with another one.
func (d delegate) LocalState(bool) (b []byte) {
	d.g.members.ask(func(v *view) { b = tellGone(v, time.Now()) })
	return b
}

func (d delegate) MergeRemoteState(b []byte, _ bool) {
	if list := decodeGone(b); len(list) > 0 {
		d.g.members.observe(func(v *view, now time.Time) { learnGone(v, now, list) })
	}
}

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
		if v.unlisted(now, n.Name) { // exchange everything with it: if it lives, it contradicts
			id := v.entries[n.Name].meta.ID
			m.mu.newcomers = append(m.mu.newcomers, newcomer{name: n.Name, address: n.Address(), id: id})
			m.signalOutlive()
		}
	})
}

func (d delegate) NotifyPingComplete(n *memberlist.Node, rtt time.Duration, payload []byte) {
	m := d.g.members
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.runs(now)
	m.mu.view.answered(now, n.Name)
}

func (d delegate) AckPayload() []byte { return nil }

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

func (d delegate) LocalState(join bool) []byte            { return nil }
func (d delegate) MergeRemoteState(buf []byte, join bool) {}

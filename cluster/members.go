package cluster

import (
	"crypto/rand"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// members has the members that this one sees, what it tells about itself, and where actors are placed. It is safe for
// concurrent use.
type members struct {
	name  string    // of this member
	began time.Time // when it was started
	log   *slog.Logger

	placed atomic.Pointer[[]Member] // the members that actors are placed on, by name; never modified in place
	// reached are the members that messages go to and come from: those placed on, and those that are being drained.
	reached atomic.Pointer[[]Member]
	wake    chan struct{} // capacity 1: mu has changed; never closed
	outlive chan struct{} // capacity 1: there is something for gossip.outlive to do; never closed

	mu struct {
		sync.Mutex
		view        *view
		meta        metadata // what this member tells others about itself
		stale       []staleMember
		newcomers   []newcomer
		packets     int  // gossip packets sent so far
		renew       bool // the others gave this member up, so it needs a new id
		subscribers map[chan struct{}]bool
	}
}

func newMembers(o *Options) *members {
	m := &members{name: o.Name, began: o.Began, log: o.Logger, wake: make(chan struct{}, 1),
		outlive: make(chan struct{}, 1)}
	m.mu.view = newView(o.Name, o.ProbeInterval)
	m.mu.subscribers = map[chan struct{}]bool{}
	m.placed.Store(&[]Member{})
	m.reached.Store(&[]Member{})
	return m
}

// setMetadata sets what this member tells others about itself.
func (m *members) setMetadata(meta metadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.meta = meta
}

// list returns all known members by name, including this one, and those that left within the last day.
func (m *members) list() []Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.runs(now)
	return m.mu.view.members(now)
}

// self returns this member.
func (m *members) self() Member {
	for _, x := range m.list() {
		if x.Self {
			return x
		}
	}
	return Member{Name: m.name, Self: true}
}

// subscribe returns a channel that receives after each change of placement.
func (m *members) subscribe() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.subscribers[ch] = true
	return ch, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.mu.subscribers, ch)
	}
}

// ask runs f on the view under its lock.
func (m *members) ask(f func(v *view)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.mu.view)
}

// observe changes the view under its lock and wakes Cluster.watch.
func (m *members) observe(f func(v *view, now time.Time)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	m.runs(now)
	f(m.mu.view, now)
	m.signal()
}

// signal wakes Cluster.watch.
func (m *members) signal() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// metadata returns what this member tells others about itself.
func (m *members) metadata() metadata {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.meta
}

// leaving makes this member announce that it gives its actors to others. Unless it stays, it leaves after that, which
// it does not take back.
func (m *members) leaving(stays bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.mu.meta
	m.mu.meta.Stays = stays && !before.announcesLeave()
	m.mu.meta.Leaving = true
	if before.Leaving && before.Stays == m.mu.meta.Stays {
		return // what was announced already must not change
	}
	m.mu.meta.Up = upFor(m.began)
	if len(encodeMetadata(m.mu.meta)) > memberlist.MetaMaxSize {
		m.mu.meta.Up = 0
	}
}

// upFor returns for how many milliseconds a member is up that was started at a time.
func upFor(began time.Time) int64 { return max(1, time.Since(began).Milliseconds()) }

// sent returns how many gossip packets were sent so far, and how many other members there are.
func (m *members) sent() (packets, others int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.packets, m.mu.view.others()
}

// publish places actors on the present members. If these have changed, it notifies subscribers. cut are the members
// that messages do not reach any more.
func (m *members) publish() (before, after, cut []Member, changed bool) {
	before = *m.placed.Load()
	m.mu.Lock()
	after = m.mu.view.placeable()
	reached := m.mu.view.reachable()
	subscribers := make([]chan struct{}, 0, len(m.mu.subscribers))
	for ch := range m.mu.subscribers {
		subscribers = append(subscribers, ch)
	}
	m.mu.Unlock()
	for _, x := range *m.reached.Swap(&reached) {
		if !x.Self && !slices.ContainsFunc(reached, func(y Member) bool { return x.ID == y.ID }) {
			cut = append(cut, x)
		}
	}
	if sameMembers(before, after) {
		return before, after, cut, false
	}
	m.placed.Store(&after)
	names := make([]string, len(after))
	for i, x := range after {
		names[i] = x.Name
	}
	m.log.Debug("members changed", "members", names)
	for _, ch := range subscribers {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return before, after, cut, true
}

// newID returns an id for one run of a member.
func newID() string { return rand.Text()[:16] }

// renewed returns the id that a member takes when it was given up under an id. It begins like that, so that the others
// can tell it from the id of a member that has restarted. Members of earlier versions take any id.
func renewed(id string) string {
	run, _, _ := strings.Cut(id, ".")
	return run + "." + strconv.Itoa(renewals(id)+1)
}

// renewals returns how often the member with an id has renewed it.
func renewals(id string) int {
	_, count, _ := strings.Cut(id, ".")
	n, _ := strconv.Atoi(count) // 0 for the first id of a run, which has no count
	return n
}

// sameRun reports whether two ids are those of one run of a member.
func sameRun(a, b string) bool {
	a, _, _ = strings.Cut(a, ".")
	b, _, _ = strings.Cut(b, ".")
	return a == b
}

// sameMembers compares everything that placement and connections depend on.
func sameMembers(a, b []Member) bool {
	return slices.EqualFunc(a, b, func(x, y Member) bool {
		return x.ID == y.ID && x.Name == y.Name && x.Remote == y.Remote
	})
}

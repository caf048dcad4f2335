package cluster

import "time"

// EventKind says what an Event is about.
type EventKind string

// The kinds of events. All but WrongSecret, NameClash, NameRefused and MemberPaused are about another member.
const (
	// MemberJoined: a member is seen for the first time. Since is zero.
	MemberJoined EventKind = "joined"
	// MemberSuspected: a member has not answered since Since, and may be dead.
	MemberSuspected EventKind = "suspected"
	// MemberAnswers: a suspected member answers again. Since is when it was last heard before.
	MemberAnswers EventKind = "answers"
	// MemberDead: the members have given up a member that has not answered this one since Since, which is zero if it
	// never did. Its actors are placed elsewhere. MemberSuspected comes before it only where it was suspected, since
	// others may be quicker to find out: a subscriber must not wait for it.
	MemberDead EventKind = "dead"
	// MemberLeft: a member has announced that it leaves, and has left. Since is when it was started, as it says itself,
	// or, if its version does not say it, when it was first seen to be up.
	MemberLeft EventKind = "left"
	// MemberReturned: a member that had left or was given up is back. Since is when it was last heard, or when it
	// left as announced.
	MemberReturned EventKind = "returned"
	// MemberRestarted: a member is back, under a new id, before it was given up. Since is when it was last heard, or
	// zero if that was never.
	MemberRestarted EventKind = "restarted"
	// MemberPaused: this member did not run from Since to At, such as a process that was stopped or a machine that was
	// frozen. It did not hear the others meanwhile, and they may have given it up.
	MemberPaused EventKind = "paused"
	// WrongSecret: a node at Address has another secret than this one.
	WrongSecret EventKind = "wrong_secret"
	// NameClash: the node at Address has the name of Member, which is this one, or another one that says so.
	NameClash EventKind = "name_clash"
	// NameRefused: the node at Address has the name of Member, which is this one, and has not started because of that.
	// It comes once for each host that starts such a node again and again, and for a few hosts only. The address is
	// what that node says.
	NameRefused EventKind = "name_refused"
)

// Event is something that happened in the cluster, as this member saw it.
type Event struct {
	Kind    EventKind
	At      time.Time
	Since   time.Time // depends on Kind; may be zero
	Member  string    // name
	Address string    // the gossip address, or for WrongSecret the host of the contact
	Version string    // of the member's program, if it has one
}

// maxEvents bounds how many events wait for Options.Notify. Further ones are lost.
const maxEvents = 1000

// happened adds an event, which members.tellEvents passes on.
func (v *view) happened(kind EventKind, at, since time.Time, e *entry) {
	if e.name == v.self && kind != MemberPaused || len(v.events) == maxEvents {
		return
	}
	v.events = append(v.events, Event{Kind: kind, At: at, Since: since, Member: e.name, Address: e.gossip,
		Version: e.meta.Version})
}

// members.tellEvents notes once per probe interval that this member runs. These are the shortest gaps between two such
// notes that have a consequence, in probe intervals.
const (
	// deafAfter: the gap is not counted as silence of the others.
	deafAfter = 2
	// pausedAfter: the gap is told as MemberPaused.
	pausedAfter = 5
	// missedAfter: the gap is longer than the others wait, so they have given this member up.
	missedAfter = 8
)

// noteRunning records that this member runs, and returns how long it did not. It could not hear the others meanwhile,
// so that time is not counted as their silence. Until members.begins, a member may wait without being paused.
func (v *view) noteRunning(now time.Time) (paused time.Duration) {
	before := v.lastRan
	if before.IsZero() {
		return 0
	}
	v.lastRan = now
	paused = now.Sub(before)
	if paused < deafAfter*v.probeInterval {
		return paused
	}
	for _, e := range v.entries {
		if e.up && !e.suspected {
			e.deaf += paused // it was heard when it was
		}
	}
	if self := v.entries[v.self]; self != nil && paused >= pausedAfter*v.probeInterval {
		v.happened(MemberPaused, now, before, self)
	}
	return paused
}

// runs records that this member runs. If it did not for so long that the others have given it up, it takes a new id.
// All that notes that the member runs must call it, since the next one does not see the gap any more. The caller holds
// mu.
func (m *members) runs(now time.Time) {
	if m.mu.view.noteRunning(now) > missedAfter*m.mu.view.probeInterval {
		m.renews()
	}
}

// begins notes that this member runs from now on. It may have waited long until it was ready, such as for its name.
func (m *members) begins() {
	m.ask(func(v *view) { v.lastRan = time.Now() })
}

// suspects finds the members that have become suspect.
func (v *view) suspects(now time.Time) {
	silence := v.silence(now)
	for name, e := range v.entries {
		// Of one that never answered here others know since when it is silent.
		if name != v.self && e.up && !e.suspected && !e.heard.IsZero() && e.silentFor(now) > silence {
			e.suspected = true
			v.happened(MemberSuspected, now, e.heard, e)
		}
	}
}

// add records an event that is not about the view.
func (m *members) add(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.mu.view.events) < maxEvents {
		m.mu.view.events = append(m.mu.view.events, e)
	}
	m.signal()
}

// tellEvents looks for members that have become suspect, and passes the events since the last call to notify, without
// the lock.
func (m *members) tellEvents(notify func(Event)) {
	m.mu.Lock()
	now := time.Now()
	m.runs(now)
	m.mu.view.suspects(now)
	if m.mu.view.settle(now) {
		m.signal()
	}
	events := m.mu.view.events
	m.mu.view.events = nil
	m.mu.Unlock()
	if notify == nil {
		return
	}
	for _, e := range events {
		notify(e)
	}
}

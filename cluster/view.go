package cluster

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Status of a member as this node sees it.
type Status string

// The statuses.
const (
	// Alive: it answers.
	Alive Status = "alive"
	// Suspect: it has not answered for a while and may be dead. It keeps its actors for now.
	Suspect Status = "suspect"
	// Left: it announced that it leaves, or was silent until the others agreed that it is dead.
	Left Status = "left"
)

// Member is one member as this node sees it. The JSON is an entry of GET /_members.
type Member struct {
	Name    string   `json:"name"`
	Status  Status   `json:"status"`
	Self    bool     `json:"self"`
	HTTP    string   `json:"http"`
	SQL     string   `json:"sql"`
	Gossip  string   `json:"gossip"`
	Remote  string   `json:"remote"`
	Version string   `json:"version"`
	Roles   []string `json:"roles"`
	// Draining reports whether the member has given its actors to others, since it is drained or about to leave.
	Draining bool `json:"-"`
	// GivenUp reports whether the member has left without announcing it. A drained member has not announced it yet.
	GivenUp bool `json:"given_up"`
	// GoneSince is when this member saw it go, or others, if they have told it. It is absent of members that are up.
	GoneSince *time.Time `json:"gone_since,omitempty"`
	// ID is the member's actor-system id. It changes when the member restarts, and after the others had given it up.
	ID string `json:"id"`
}

// State is the status, or "dead" instead of Left for a member that was given up. GET /_members has only the three
// statuses that its clients know (docs/clauses.md, "HTTP"), and says the same by GivenUp.
func (m *Member) State() string {
	if m.GivenUp {
		return "dead"
	}
	return string(m.Status)
}

// metadata is what a member tells about itself in gossip. memberlist limits it to 512 bytes.
type metadata struct {
	ID      string   `json:"i"`
	HTTP    string   `json:"h,omitempty"`
	SQL     string   `json:"s,omitempty"`
	Remote  string   `json:"r"`
	Version string   `json:"v,omitempty"`
	Roles   []string `json:"o,omitempty"`
	// Leaving is set when a member is drained, and shortly before it leaves regularly: no actors are placed on it any
	// more.
	Leaving bool `json:"l,omitempty"`
	// Stays is set together with Leaving while a member is drained but does not leave yet. Members of versions without
	// it take a drained member for one that leaves.
	Stays bool `json:"d,omitempty"`
	// Store identifies the store that the member uses.
	Store string `json:"u,omitempty"`
	// Up is for how many milliseconds the member had been up when it set Leaving or Stays: no two clocks are compared.
	// It is left out where it does not fit, and by members of versions without it.
	Up int64 `json:"p,omitempty"`
}

func encodeMetadata(m metadata) []byte {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // encoding strings and bools never fails
	}
	return b
}

// decodeMetadata decodes another member's metadata. If it is not understood (another version, a foreign program), the
// result is the zero metadata: such a member is shown, but no actors are placed on it.
func decodeMetadata(b []byte) metadata {
	var m metadata
	if json.Unmarshal(b, &m) != nil {
		return metadata{}
	}
	return m
}

// announcesLeave reports whether a member says that it is about to leave.
func (m *metadata) announcesLeave() bool { return m.Leaving && !m.Stays }

// keepLeft is how long a member that left is still listed.
const keepLeft = 24 * time.Hour

// view is what this node knows about the members. It is told what happened and when, and has no clock and no lock of
// its own.
type view struct {
	self          string // name
	probeInterval time.Duration
	entries       map[string]*entry
	forgotten     forgotten
	events        []Event   // not passed on yet
	lastRan       time.Time // when members.begins or, after that, noteRunning was called last
}

type entry struct {
	name   string
	gossip string
	meta   metadata
	up     bool
	known  time.Time     // since when it is known to be up, which others may have told
	heard  time.Time     // the last sign of life; zero if it is known from others alone
	lived  time.Time     // the last one of the known run: a later run may answer before it is seen to join
	deaf   time.Duration // for how long of its silence this member did not run, so that it could not hear that one
	since  time.Time     // since when it is seen to be up
	began  time.Time     // since when it says that it is up, once it leaves; zero if it does not say it
	left   time.Time     // since when it is no longer up

	listed    bool // memberlist has it among its members
	saidLeft  bool // a notice says that this run of it has left (left.go)
	suspected bool // it has not answered for a while, and this was recorded as an event
	// doubted is since when gossip says that it is gone although it answered here a moment ago; zero if it does not.
	doubted time.Time
}

func newView(self string, probeInterval time.Duration) *view {
	return &view{self: self, probeInterval: probeInterval, entries: map[string]*entry{},
		forgotten: forgotten{}}
}

// joined records that a member is up. stale is true if it had been given up and returns under the same id: it does not
// know that its actors were placed elsewhere, and must be told.
func (v *view) joined(now time.Time, name, gossip string, meta metadata) (stale bool) {
	e := v.entries[name]
	if e == nil {
		e = &entry{name: name}
		v.entries[name] = e
	}
	if e.saidLeft && sameRun(e.meta.ID, meta.ID) {
		e.gossip, e.meta, e.listed = gossip, meta, true
		return false
	}
	stale = name != v.self && !e.up && !e.left.IsZero() && e.meta.ID == meta.ID && !meta.announcesLeave()
	before := *e
	*e = entry{name: name, gossip: gossip, meta: meta, up: true, listed: true, known: now, heard: now, lived: now,
		since: before.since}
	if sameRun(before.meta.ID, meta.ID) {
		e.began = before.began
	}
	e.saysUp(now, meta.Up)
	switch {
	case before.up && sameRun(before.meta.ID, meta.ID): // an update, or a new id since it had been given up
		e.known, e.heard, e.lived, e.deaf, e.suspected = before.known, before.heard, before.lived, before.deaf,
			before.suspected // it may have told that to others, long ago
		return false
	case before.up:
		v.happened(MemberRestarted, now, before.lived, e)
	case before.left.IsZero():
		e.heard, e.lived = time.Time{}, time.Time{} // others may tell of it that do not know yet that it has died
		v.happened(MemberJoined, now, time.Time{}, e)
	default:
		v.happened(MemberReturned, now, before.wentAt(), e)
	}
	e.since = now
	return stale
}

// unlisted records that memberlist does not list a member any more: it has left or is dead. That may be old: a member
// that was not restarted says it of the lives before of those that were, and these contradict it as soon as they hear
// it. So one that answered a moment ago is doubted first, and settle gives it up. doubted reports that it should be
// asked.
func (v *view) unlisted(now time.Time, name string) (doubted bool) {
	e := v.entries[name]
	if e == nil {
		return false
	}
	e.listed = false
	if !e.up || !e.doubted.IsZero() {
		return false
	}
	if name == v.self || e.meta.announcesLeave() || e.silentFor(now) > v.silence(now) {
		v.giveUp(now, name)
		return false
	}
	e.doubted = now
	return true
}

// settle gives up the members that have been doubted for some time. It reports whether there were any.
func (v *view) settle(now time.Time) (gaveUp bool) {
	for name, e := range v.entries {
		if e.up && !e.doubted.IsZero() && (e.meta.announcesLeave() || now.Sub(e.doubted) >= v.probeInterval) {
			v.giveUp(now, name)
			gaveUp = true
		}
	}
	return gaveUp
}

// giveUp records that a member has left or is dead.
func (v *view) giveUp(now time.Time, name string) {
	e := v.entries[name]
	if e == nil || !e.up {
		return
	}
	e.up, e.left, e.suspected, e.doubted = false, now, false, time.Time{}
	if e.announcedLeave() {
		since := e.since
		if !e.began.IsZero() {
			since = e.began
		}
		v.happened(MemberLeft, now, since, e)
		return
	}
	v.happened(MemberDead, now, e.heard, e)
}

// answered records a sign of life of a member's run with an id, which is empty for members of earlier versions.
// restarted reports that it is another run than the one that is known, so that the member should be asked.
func (v *view) answered(now time.Time, name, id string) (restarted bool) {
	e := v.entries[name]
	if e == nil {
		return false
	}
	same := id == "" || sameRun(e.meta.ID, id)
	if same {
		e.lived = now
	}
	v.reached(now, name)
	return e.up && !same
}

// reached records a sign of life of a member, of whatever run.
func (v *view) reached(now time.Time, name string) {
	e := v.entries[name]
	if e == nil {
		return
	}
	if e.suspected {
		e.suspected = false
		v.happened(MemberAnswers, now, e.heard, e)
	}
	e.heard, e.deaf = now, 0
}

// silentFor returns for how long a member has been silent, as far as this one could have heard it.
func (e *entry) silentFor(now time.Time) time.Duration {
	from := e.heard
	if from.IsZero() {
		from = e.known
	}
	return now.Sub(from) - e.deaf
}

// wentAt returns when a member that is not up any more went: it was last heard then, if it did not announce it.
func (e *entry) wentAt() time.Time {
	if e.announcedLeave() || e.heard.IsZero() || e.heard.After(e.left) {
		return e.left
	}
	return e.heard
}

// patience returns the longest silence between two probes of a healthy member: memberlist probes one member per
// interval, and shuffles them after each round, so that one may be the first of a round and the last of the next. Those
// that have just gone count, since the others were probed later because of them.
func (v *view) patience(now time.Time) time.Duration {
	n := v.others()
	for _, e := range v.entries {
		if !e.up && now.Sub(e.left) < justGone*v.probeInterval {
			n++
		}
	}
	return time.Duration(max(n+1, 2*n))*v.probeInterval + v.probeInterval/2
}

// justGone is for how many probe intervals after a member has gone the others may have been probed late.
const justGone = 8

// silence is how long a member may not answer until it is suspect: one more probe than patience, since the others are
// probed late while a dead member is probed.
func (v *view) silence(now time.Time) time.Duration { return v.patience(now) + v.probeInterval }

// others returns the number of other members.
func (v *view) others() (n int) {
	for _, e := range v.entries {
		if e.up && e.name != v.self {
			n++
		}
	}
	return n
}

// addresses returns the gossip addresses of the other members.
func (v *view) addresses() (list []string) {
	for _, e := range v.entries {
		if e.up && e.name != v.self {
			list = append(list, e.gossip)
		}
	}
	return list
}

// published reports whether memberlist has taken over this member's metadata.
func (v *view) published(meta metadata) bool {
	self := v.entries[v.self]
	return self != nil && self.meta.ID == meta.ID && self.meta.Leaving == meta.Leaving && self.meta.Stays == meta.Stays
}

// members lists all members by name, and forgets those that left long ago.
func (v *view) members(now time.Time) []Member {
	v.forgotten.prune(now)
	silence := v.silence(now)
	list := make([]Member, 0, len(v.entries))
	for name, e := range v.entries {
		status := Alive
		switch {
		case !e.up && now.Sub(e.left) > keepLeft:
			delete(v.entries, name)
			continue
		case !e.up:
			status = Left
		case name != v.self && e.silentFor(now) > silence:
			status = Suspect
		}
		list = append(list, e.member(status, name == v.self))
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// placeable lists the members that actors may be placed on, by name. A suspect member keeps its place: moving actors
// after every delay would cost more than waiting for certainty.
func (v *view) placeable() []Member {
	return slices.DeleteFunc(v.reachable(), func(m Member) bool { return m.Draining })
}

// reachable lists the members that messages can be sent to, by name. Members that are being drained are among them.
func (v *view) reachable() []Member {
	var list []Member
	for name, e := range v.entries {
		if e.up && e.meta.ID != "" && e.meta.Remote != "" && !v.elsewhere(e) {
			list = append(list, e.member(Alive, name == v.self))
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// elsewhere reports whether a member is known to use another store than this one.
func (v *view) elsewhere(e *entry) bool {
	self := v.entries[v.self]
	return self != nil && self.meta.Store != "" && e.meta.Store != "" && e.meta.Store != self.meta.Store
}

// onOtherStores lists the members that are up and use another store.
func (v *view) onOtherStores() (names []string) {
	for name, e := range v.entries {
		if e.up && v.elsewhere(e) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// forget removes a member that is not up and was not heard after a time. It reports whether there was one.
func (v *view) forget(name string, unheardSince time.Time) bool {
	e := v.entries[name]
	if e != nil && (e.up || e.heard.After(unheardSince)) {
		return false
	}
	v.forgotten.add(name, unheardSince)
	delete(v.entries, name)
	return e != nil
}

// lost lists the gossip addresses of members that left without announcing it. They may return when a network recovers,
// and memberlist itself does not try, since it stops gossiping to dead members.
func (v *view) lost(now time.Time) []string {
	var list []string
	for _, e := range v.entries {
		if !e.up && !e.announcedLeave() && now.Sub(e.left) < keepLeft {
			list = append(list, e.gossip)
		}
	}
	return list
}

// knows reports whether a member with that gossip address is up, or was up once.
func (v *view) knows(gossip string, once bool) bool {
	for _, e := range v.entries {
		if (e.up || once) && e.gossip == gossip {
			return true
		}
	}
	return false
}

// announcedLeave reports whether a member has said that it leaves, in its metadata or in a notice.
func (e *entry) announcedLeave() bool { return e.saidLeft || e.meta.announcesLeave() }

// saysUp records for how many milliseconds a member says that it was up, which may arrive late, and more than once.
func (e *entry) saysUp(now time.Time, up int64) {
	began := now.Add(-time.Duration(up) * time.Millisecond)
	if up > 0 && (e.began.IsZero() || began.Before(e.began)) {
		e.began = began
	}
}

func (e *entry) member(s Status, self bool) Member {
	roles := e.meta.Roles
	if roles == nil {
		roles = []string{}
	}
	var gone *time.Time
	if s == Left {
		at := e.left.UTC()
		gone = &at
	}
	return Member{
		Name:    e.name,
		Status:  s,
		Self:    self,
		HTTP:    e.meta.HTTP,
		SQL:     e.meta.SQL,
		Gossip:  e.gossip,
		Remote:  e.meta.Remote,
		Version: e.meta.Version,
		Roles:   roles,
		ID:      e.meta.ID,

		// memberlist knows whether a member has left or was given up, but does not pass that on to its delegates.
		GivenUp:   s == Left && !e.announcedLeave(),
		GoneSince: gone,
		Draining:  e.meta.Leaving,
	}
}

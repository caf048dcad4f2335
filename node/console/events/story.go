package events

import (
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// storyLasts is how long after the last report on a member that does not answer another one belongs to that. What
	// follows from its being gone may come any time later: its jobs are resumed, and it is back or forgotten.
	storyLasts = 5 * time.Minute
	// storySettles is for how long after its end a story still takes reports of other nodes on the same.
	storySettles = 5 * time.Second
	// takenLate is for how long after the end of a story jobs may be taken over because of it: their leases end when
	// nobody has renewed them for some time, and whoever takes them may be busy.
	takenLate = time.Minute
	// handsOver is how long before a member leaves what is taken over from it belongs to that.
	handsOver = time.Minute
)

// ofStories has the kinds that stories consist of.
var ofStories = map[state.EventKind]bool{
	state.MemberJoined: true, state.MemberSilent: true, state.MemberAnswers: true, state.MemberDead: true,
	state.MemberLeft: true, state.MemberReturned: true, state.MemberRestart: true, state.ShardsMoved: true,
	state.JobTaken: true, state.NodePaused: true, state.NodeStarted: true, state.StoreLost: true, state.StoreBack: true,
	state.ActionDone: true, state.Draining: true,
}

// Stories groups the events of a list of Merge. The stories are those of members that went, and of stores that did not
// answer for another reason, newest first.
func Stories(merged []state.Event) []state.Story {
	list := tellings(merged)
	addStarts(list, merged)
	stories := make([]state.Story, 0, len(list))
	all := outages(merged)
	addTaken(all, list, merged)
	for _, o := range all {
		if t := o.of(list); t != nil {
			t.outages = append(t.outages, o)
		} else {
			stories = append(stories, o.story())
		}
	}
	for _, t := range slices.Backward(list) {
		stories = append(stories, t.story())
	}
	slices.SortStableFunc(stories, func(a, b state.Story) int { return b.Began.Compare(a.Began) })
	return stories
}

// tellings returns the stories of members in a list of Merge, oldest first. One begins with the first report that its
// member went, and is over with the first that it is back or forgotten. What tells that it went again begins the next.
func tellings(merged []state.Event) (list []*telling) {
	latest := map[string]*telling{}          // by member
	takeovers := map[string][]*state.Event{} // by the member that they are from
	drains := map[string]*state.Event{}      // the last one of each member
	for _, e := range slices.Backward(merged) {
		member := e.Member
		switch e.Kind {
		case state.ShardsMoved, state.JobTaken:
			member = e.From
			takeovers[member] = append(takeovers[member], &e)
		case state.Draining:
			member = e.Node
			drains[member] = &e
		}
		before := latest[member]
		switch {
		case !ofStories[e.Kind], e.Kind == state.ActionDone && !Forgets(&e):
		case before != nil && before.takes(&e):
			before.add(&e)
		case begins(e.Kind):
			t := &telling{member: member}
			latest[member] = t
			list = append(list, t)
			t.add(&e)
			t.adopt(takeovers[member], before)
			if d := drains[member]; d != nil && e.Kind == state.MemberLeft && e.At.Sub(d.At) <= handsOver {
				t.add(d)
				delete(drains, member)
			}
		}
	}
	return list
}

// addTaken adds to outages of the store the jobs that were taken over from nodes that could not renew their leases
// meanwhile, and that are not gone.
func addTaken(outages []*outage, list []*telling, merged []state.Event) {
	told := map[string]bool{} // by id
	for _, t := range list {
		for _, e := range t.taken() {
			told[e.ID] = true
		}
	}
	for _, e := range slices.Backward(merged) {
		if e.Kind != state.JobTaken || told[e.ID] {
			continue
		}
		for _, o := range slices.Backward(outages) {
			if at := begun(&e); slices.Contains(o.nodes, e.From) && !at.Before(o.began) {
				if !o.over() || at.Sub(o.end.sign.At) <= takenLate {
					o.taken[e.From] = append(o.taken[e.From], &e)
				}
				break
			}
		}
	}
}

// Lasts reports whether the last story of a member in a list of Merge is not over.
func Lasts(merged []state.Event, member string) bool {
	for _, t := range slices.Backward(tellings(merged)) {
		if t.member == member {
			return !t.over
		}
	}
	return false
}

// takes reports whether a later event belongs to a story, and not to the next one or to none.
func (t *telling) takes(e *state.Event) bool {
	switch follows := ends(e) || e.Kind == state.JobTaken || e.Kind == state.NodePaused; {
	case !t.over:
		return t.gone && follows || Forgets(e) || e.At.Sub(t.last) <= storyLasts
	case e.Kind == state.JobTaken:
		return e.At.Sub(t.ended) <= takenLate
	case e.Kind == state.ShardsMoved:
		return e.At.Sub(t.ended) <= storySettles
	case t.end == state.ActionDone && begins(e.Kind) && e.Since != nil: // a node that did not run meanwhile tells it
		return !e.Since.After(t.ended)
	case e.Kind == state.MemberDead, e.Kind == state.MemberLeft:
		return false
	}
	// Other nodes see the same later, and the member tells itself what happened to it.
	return e.At.Sub(t.ended) <= storySettles && !begun(e).After(t.ended)
}

// addStarts adds to the stories of members that they have started anew meanwhile, which only they tell themselves. They
// are seen to be back before they tell it.
func addStarts(list []*telling, merged []state.Event) {
	for _, e := range slices.Backward(merged) {
		if e.Kind != state.NodeStarted {
			continue
		}
		for _, t := range slices.Backward(list) {
			if at := begun(&e); t.member == e.Node && at.After(t.wasGone()) {
				if t.maySee(at) {
					t.events, t.started = append(t.events, &e), true
				}
				break
			}
		}
	}
}

// begun returns when what an event is about began.
func begun(e *state.Event) time.Time {
	if e.Since != nil {
		return *e.Since
	}
	return e.At
}

// begins reports whether events of a kind tell that a member went. One that has restarted before anybody noticed that
// it was gone is back by the same report.
func begins(k state.EventKind) bool {
	return k == state.MemberSilent || k == state.MemberDead || k == state.MemberLeft || k == state.MemberRestart
}

// ends reports whether a story is over: the member is back, or an operator has forgotten it.
func ends(e *state.Event) bool {
	return e.Kind == state.MemberAnswers || e.Kind == state.MemberReturned || e.Kind == state.MemberRestart ||
		Forgets(e)
}

// What Event.Object begins with of an action that was not done, of which that is not known, or that was not done on
// every node.
const NotDone, PerhapsNotDone, PartlyDone = "not done: ", "perhaps not done: ", "not done on every node: "

// Forgets reports whether an event tells that an operator has forgotten its member, which is the one action that names
// a member. A node that did not answer then forgets the member when it learns of it.
func Forgets(e *state.Event) bool {
	return e.Kind == state.ActionDone && e.Member != "" && !strings.HasPrefix(e.Object, NotDone) &&
		!strings.HasPrefix(e.Object, PerhapsNotDone)
}

// telling is a story while it is put together.
type telling struct {
	member  string
	events  []*state.Event
	outages []*outage
	last    time.Time
	gone    bool // the member was given up or has left
	started bool // it is known to have started anew
	over    bool
	end     state.EventKind // by which over was set
	ended   time.Time       // when over was set
}

func (t *telling) add(e *state.Event) {
	t.events = append(t.events, e)
	t.last = later(t.last, e.At)
	t.gone = t.gone || e.Kind == state.MemberDead || e.Kind == state.MemberLeft
	// A node that was restarted too sees it join, perhaps before the others see it return.
	if !t.over && (ends(e) || t.gone && e.Kind == state.MemberJoined) {
		t.over, t.end, t.ended = true, e.Kind, e.At
	}
}

// wasGone returns when the member fell silent or left, as the first report says.
func (t *telling) wasGone() time.Time {
	if first := t.events[0]; isSilence(first) {
		return *first.Since
	}
	return t.events[0].At
}

// maySee reports whether what the member did at a time after it was gone belongs to the story.
func (t *telling) maySee(at time.Time) bool {
	if t.over {
		return at.Sub(t.ended) <= storySettles
	}
	return t.gone || at.Sub(t.last) <= storyLasts
}

// adopt adds the take-overs from a member that its story begins with: a job has a lease of its own, and may be taken
// before the member is suspected; one that leaves hands over what it has first. They are not those of an earlier story.
func (t *telling) adopt(takeovers []*state.Event, before *telling) {
	begun := t.events[0]
	var since time.Time
	switch {
	case begun.Kind == state.MemberLeft: // whose Since is when it joined
		since = begun.At.Add(-handsOver)
		if begun.Since != nil {
			since = later(since, *begun.Since)
		}
		if before != nil {
			since = later(later(since, before.ended), lastBurst(takeovers))
		}
	case begun.Since != nil:
		since = *begun.Since
	default:
		return
	}
	for _, e := range takeovers {
		if e.At.Before(since) {
			continue
		}
		t.add(e)
		if before != nil {
			before.events = slices.DeleteFunc(before.events, func(o *state.Event) bool { return o.ID == e.ID })
		}
	}
}

// lastBurst returns when the last take-overs began that came one soon after another. A member that leaves hands over
// all it has at once.
func lastBurst(takeovers []*state.Event) time.Time {
	for i := len(takeovers) - 1; i > 0; i-- {
		if takeovers[i].At.Sub(takeovers[i-1].At) > storySettles {
			return takeovers[i].At
		}
	}
	return time.Time{}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isSilence reports whether an event that may begin a story says since when a member is silent.
func isSilence(e *state.Event) bool {
	return e.Since != nil && begins(e.Kind) && e.Kind != state.MemberLeft
}

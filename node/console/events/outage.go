package events

import (
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

// causedWithin is how long after a member fell silent or left the others may find that the store does not answer
// because of that: the member may have had it.
const causedWithin = 15 * time.Second

// absence is a time in which the store did not answer one node. That it answers again is told by the run of the node
// that missed it, which may have ended before, or have taken what it told with it. Then the absence ends with the first
// sign that it is over, and its exact end is unknown.
type absence struct {
	node  string
	began time.Time
	lost  *state.Event
	sign  *state.Event // that it is over; nil while it lasts
	exact bool         // sign is the node's own report that the store answers again
}

// outage is a time in which the store did not answer some nodes.
type outage struct {
	absences []*absence
	events   []*state.Event // reports of nodes, and what else is known of the end
	nodes    []string       // that it did not answer, as they reported it
	began    time.Time
	end      *absence // that ended last; nil while one lasts
}

// outages returns the outages in a list of Merge, oldest first. One ends when the store answers all nodes again that
// reported it, as far as these still run.
func outages(merged []state.Event) (list []*outage) {
	for _, a := range absences(merged) {
		i := len(list) - 1
		if i < 0 || !list[i].lastsUntil(a.began) {
			list = append(list, &outage{began: a.began})
			i++
		}
		list[i].absences = append(list[i].absences, a)
	}
	for _, o := range list {
		o.complete()
	}
	return list
}

// absences returns what a list of Merge tells of a store that did not answer, for each node, oldest first.
func absences(merged []state.Event) (list []*absence) {
	latest := map[string]*absence{} // by node
	for _, e := range slices.Backward(merged) {
		switch e.Kind {
		case state.StoreLost:
			for _, n := range append([]string{e.Node}, e.Also...) {
				latest[n].endBy(&e)
				latest[n] = &absence{node: n, began: begun(&e), lost: &e}
				list = append(list, latest[n])
			}
		case state.StoreBack:
			for _, n := range append([]string{e.Node}, e.Also...) {
				latest[n].answered(&e)
			}
		case state.NodeStarted:
			if a := latest[e.Node]; a != nil && begun(&e).After(a.began) {
				a.endBy(&e)
			}
		case state.JobTaken: // which it cannot take without the store
			latest[e.Node].endBy(&e)
		case state.MemberDead, state.MemberLeft, state.MemberRestart:
			latest[e.Member].endBy(&e)
		}
	}
	slices.SortStableFunc(list, func(a, b *absence) int { return a.began.Compare(b.began) })
	return list
}

// endBy ends an absence that lasts, because of a later event by which it is over.
func (a *absence) endBy(e *state.Event) {
	if a != nil && a.sign == nil && e.At.After(a.lost.At) {
		a.sign = e
	}
}

// answered ends an absence with the report that the store answers again, which says since when it had not. A node that
// was given up, but lives, may report that later.
func (a *absence) answered(back *state.Event) {
	switch {
	case a == nil || a.exact:
	case back.Since == nil || !back.Since.After(a.lost.At.Add(sameWithin)):
		a.sign, a.exact = back, true
		if at := begun(back); at.Before(a.began) {
			a.began = at
		}
	default: // the end of another absence, whose beginning is forgotten
		a.endBy(back)
	}
}

// lastsUntil reports whether an absence that began at a time belongs to the outage. How long an absence lasted whose
// end is not known is not assumed.
func (o *outage) lastsUntil(began time.Time) bool {
	return slices.ContainsFunc(o.absences, func(a *absence) bool {
		switch {
		case a.sign == nil:
			return true
		case a.exact:
			return !began.After(a.sign.At)
		}
		return began.Before(a.sign.At) && began.Sub(a.lost.At) <= sameWithin
	})
}

// complete sets what follows from the absences.
func (o *outage) complete() {
	over := true
	for _, a := range o.absences {
		if !slices.Contains(o.nodes, a.node) {
			o.nodes = append(o.nodes, a.node)
		}
		if a.began.Before(o.began) {
			o.began = a.began
		}
		o.add(a.lost)
		if a.exact {
			o.add(a.sign)
		}
		over = over && a.sign != nil
		// The store did answer the others at an exact end.
		if a.sign != nil && (o.end == nil || a.exact && !o.end.exact ||
			a.exact == o.end.exact && a.sign.At.After(o.end.sign.At)) {
			o.end = a
		}
	}
	if !over {
		o.end = nil
	} else if o.end.sign.Kind != state.StoreLost { // that is told in the next outage
		o.add(o.end.sign)
	}
	slices.Sort(o.nodes)
}

// add adds an event unless it is there: several nodes share one.
func (o *outage) add(e *state.Event) {
	if !slices.ContainsFunc(o.events, func(other *state.Event) bool { return other.ID == e.ID }) {
		o.events = append(o.events, e)
	}
}

func (o *outage) over() bool { return o.end != nil }

// concerns reports whether an outage belongs into a member's story: the member told of it then, or had gone right
// before. caused reports whether that is all that is to be told of it.
func (o *outage) concerns(t *telling) (concerns, caused bool) {
	gone := t.wasGone()
	found := o.events[0].At
	if t.over && found.After(t.ended.Add(storySettles)) || o.over() && o.end.sign.At.Before(gone) {
		return false, false
	}
	if !found.Before(gone) && found.Sub(gone) <= causedWithin {
		return true, true
	}
	return slices.Contains(o.nodes, t.member), len(o.nodes) == 1
}

// lines returns the steps of an outage, without those that another story has.
func (o *outage) lines(has []*state.Event) []state.StoryLine {
	list := make([]state.StoryLine, 0, len(o.events))
	for _, e := range o.events {
		if !slices.ContainsFunc(has, func(other *state.Event) bool { return other.ID == e.ID }) {
			list = append(list, state.StoryLine{At: e.At, Text: e.Text, Nodes: append([]string{e.Node}, e.Also...)})
		}
	}
	return list
}

// text says which nodes were without the store, and when.
func (o *outage) text() string {
	text := listed(o.nodes) + " without store "
	if !o.over() {
		return text + "since " + clock(o.began)
	}
	text += "from " + clock(o.began)
	at := clock(o.end.sign.At)
	switch {
	case o.end.exact:
		return text + " to " + at
	case o.end.sign.Kind == state.MemberDead:
		return text + " until given up " + at
	case o.end.sign.Kind == state.MemberLeft:
		return text + " until it left " + at
	}
	return text + " to " + at + " at the latest"
}

// story is the story of an outage that no member's story tells.
func (o *outage) story() state.Story {
	names := listed(o.nodes)
	s := state.Story{ID: o.events[0].ID, Severity: state.Error, Over: o.over(), Began: o.began, Stores: o.nodes,
		Lines: o.lines(nil), Text: o.text()}
	s.Title = "the store does not answer " + names
	if s.Over {
		s.Severity = state.Good
		s.Title = "the store did not answer " + names + " for a while"
	}
	inTenths(&s)
	return s
}

// listed returns names as in a sentence.
func listed(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

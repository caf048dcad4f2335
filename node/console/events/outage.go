package events

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// causedWithin is how long after a member fell silent or left the store may not answer the others because of that:
	// the member may have had it.
	causedWithin = 15 * time.Second
	// causedBefore is how long before it others may have begun to ask that store.
	causedBefore = time.Second
)

// absence is a time in which the store did not answer one node. That it answers again is told by the run of the node
// that missed it, which may have ended before, or have taken what it told with it. Then the absence ends with the first
// sign that it is over, and its exact end is unknown.
type absence struct {
	node  string
	began time.Time
	lost  *state.Event
	sign  *state.Event // that it is over; nil while it lasts
	exact bool         // sign is the node's own report that the store answers again
	// paused: the node did not run for a part of it, so that it could not see the end.
	paused bool
}

// outage is a time in which the store did not answer some nodes.
type outage struct {
	absences []*absence
	events   []*state.Event // reports of nodes, and what else is known of the end
	nodes    []string       // that it did not answer, as they reported it
	began    time.Time
	end      *absence // that ended last; nil while one lasts
	// taken are the jobs of these nodes that were taken over because of it, oldest first, by node.
	taken map[string][]*state.Event
}

// outages returns the outages in a list of Merge, oldest first. One ends when the store answers all nodes again that
// reported it, as far as these still run.
func outages(merged []state.Event) (list []*outage) {
	for _, a := range absences(merged) {
		i := len(list) - 1
		if i < 0 || !list[i].lastsUntil(a.began) {
			list = append(list, &outage{began: a.began, taken: map[string][]*state.Event{}})
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
		case state.NodePaused:
			latest[e.Node].overslept(begun(&e))
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
	case a.paused:
		a.endBy(back)
	case back.Since == nil || !back.Since.After(a.lost.At.Add(sameWithin)):
		a.sign, a.exact = back, true
		if at := begun(back); at.Before(a.began) {
			a.began = at
		}
	default: // the end of another absence, whose beginning is forgotten
		a.endBy(back)
	}
}

// overslept notes that the node was paused since a time. It may say that the store answers again before it says that.
func (a *absence) overslept(since time.Time) {
	if a != nil && since.After(a.began) && (a.sign == nil || a.sign.At.After(since) || !a.exact) {
		a.paused, a.exact = true, false
	}
}

// lastsUntil reports whether an absence that began at a time belongs to the outage. An absence whose end is not known
// is taken to have ended as those of other nodes, or else not to have lasted long.
func (o *outage) lastsUntil(began time.Time) bool {
	known := slices.ContainsFunc(o.absences, func(a *absence) bool { return a.exact })
	return slices.ContainsFunc(o.absences, func(a *absence) bool {
		switch {
		case a.sign == nil:
			return true
		case a.exact:
			return !began.After(a.sign.At)
		}
		return !known && began.Before(a.sign.At) && began.Sub(a.lost.At) <= sameWithin
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

// holder returns which node has the store, or "" if that is not known.
func (o *outage) holder() string {
	for _, a := range o.absences {
		if a.lost.From != "" {
			return a.lost.From
		}
	}
	return ""
}

// of returns the story of a member that tells the outage, or nil: it has the store, went right before that did not
// answer others, and was back when it did; or it is the only one that the store did not answer. Each outage is told
// once: if several members had gone and it is not known which one has the store, by the story of the one that went when
// the outage began.
func (o *outage) of(list []*telling) (of *telling) {
	var closest time.Duration
	holder := o.holder()
	for _, t := range list {
		gone := t.wasGone()
		after, has := o.began.Sub(gone), slices.Contains(o.nodes, t.member)
		caused := !has && (holder == "" || holder == t.member) && -causedBefore <= after && after <= causedWithin
		if o.over() && holder == "" { // it has the store if both are back together
			caused = caused && t.over && t.ended.Sub(o.end.sign.At) <= storySettles
		}
		switch {
		case !caused && !(has && len(o.nodes) == 1),
			t.over && o.began.After(t.ended), o.over() && o.end.sign.At.Before(gone):
			continue
		}
		if of == nil || after.Abs() < closest {
			of, closest = t, after.Abs()
		}
	}
	return of
}

// lines returns the steps of an outage, without those that its story has.
func (o *outage) lines(has []*state.Event) []state.StoryLine {
	list := make([]state.StoryLine, 0, len(o.events))
	for _, e := range o.events {
		if !slices.ContainsFunc(has, func(other *state.Event) bool { return other.ID == e.ID }) {
			list = append(list, state.StoryLine{At: e.At, Text: e.Text, Nodes: append([]string{e.Node}, e.Also...)})
		}
	}
	for _, from := range slices.Sorted(maps.Keys(o.taken)) {
		list = append(list, takenLines(o.taken[from], " of "+from)...)
	}
	return list
}

// text says which nodes were without the store, and when, and when the jobs were resumed that they lost.
func (o *outage) text() string {
	text := o.times()
	for _, from := range slices.Sorted(maps.Keys(o.taken)) {
		for _, p := range takenParts(o.taken[from], " of "+from) {
			text += ", " + p.text
		}
	}
	return text
}

func (o *outage) times() string {
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

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

// outage is a time in which the store did not answer some nodes.
type outage struct {
	events []*state.Event
	nodes  []string        // that it did not answer, as they reported it
	lost   map[string]bool // those of nodes that it still does not answer
	began  time.Time
	last   time.Time
}

// outages returns the outages in a list of Merge, oldest first. One ends when the store answers all nodes again that
// reported it.
func outages(merged []state.Event) []*outage {
	var list []*outage
	for _, e := range slices.Backward(merged) {
		if e.Kind != state.StoreLost && e.Kind != state.StoreBack {
			continue
		}
		var o *outage
		if len(list) > 0 && !list[len(list)-1].over() {
			o = list[len(list)-1]
		}
		nodes := append([]string{e.Node}, e.Also...)
		switch {
		case e.Kind == state.StoreLost && o == nil:
			o = &outage{lost: map[string]bool{}, began: begun(&e)}
			list = append(list, o)
		case o == nil || e.Kind == state.StoreBack && !slices.ContainsFunc(nodes, o.has):
			continue // its beginning is forgotten
		}
		for _, n := range nodes {
			if e.Kind == state.StoreBack {
				delete(o.lost, n)
				continue
			}
			o.lost[n] = true
			if !slices.Contains(o.nodes, n) {
				o.nodes = append(o.nodes, n)
			}
		}
		if at := begun(&e); at.Before(o.began) {
			o.began = at
		}
		o.events = append(o.events, &e)
		o.last = e.At
	}
	return list
}

func (o *outage) has(node string) bool { return o.lost[node] }

func (o *outage) over() bool { return len(o.lost) == 0 }

// concerns reports whether an outage belongs into a member's story: the member told of it then, or had gone right
// before. caused reports whether that is all that is to be told of it.
func (o *outage) concerns(t *telling) (concerns, caused bool) {
	gone := t.wasGone()
	found := o.events[0].At
	if t.over && found.After(t.ended.Add(storySettles)) || o.over() && o.last.Before(gone) {
		return false, false
	}
	if !found.Before(gone) && found.Sub(gone) <= causedWithin {
		return true, true
	}
	return slices.Contains(o.nodes, t.member), len(o.nodes) == 1
}

// lines returns the steps of an outage.
func (o *outage) lines() []state.StoryLine {
	list := make([]state.StoryLine, 0, len(o.events))
	for _, e := range o.events {
		list = append(list, state.StoryLine{At: e.At, Text: e.Text, Nodes: append([]string{e.Node}, e.Also...)})
	}
	return list
}

// text says which nodes were without the store, and when.
func (o *outage) text() string {
	nodes := listed(slices.Sorted(slices.Values(o.nodes)))
	if o.over() {
		return nodes + " without store from " + clock(o.began) + " to " + clock(o.last)
	}
	return nodes + " without store since " + clock(o.began)
}

// story is the story of an outage that no member's story tells.
func (o *outage) story() state.Story {
	nodes := slices.Sorted(slices.Values(o.nodes))
	names := listed(nodes)
	s := state.Story{ID: o.events[0].ID, Severity: state.Error, Over: o.over(), Began: o.began, Ended: o.last,
		Stores: nodes, Lines: o.lines(), Text: o.text()}
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

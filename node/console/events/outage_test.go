package events_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// An outage is over when its nodes have told that, or cannot tell it any more. Its end is then as exact as what is
// known, and the next outage changes nothing about it.
func TestStories_storeAndRestarts(t *testing.T) {
	id := 0
	of := func(kind state.EventKind, node string, s float64) state.Event {
		id++
		return state.Event{ID: fmt.Sprint(node, "/a/", id), Node: node, At: at(s), Kind: kind, Text: string(kind)}
	}
	lost := func(node string, s float64) state.Event {
		e := of(state.StoreLost, node, s)
		e.Since = since(s - 1)
		return e
	}
	back := func(node string, s, from float64) state.Event {
		e := of(state.StoreBack, node, s)
		e.Since = since(from)
		return e
	}
	about := func(kind state.EventKind, node, member string, s, from float64) state.Event {
		e := of(kind, node, s)
		e.Member, e.Since = member, since(from)
		return e
	}
	started := func(node string, s, began float64) state.Event {
		e := of(state.NodeStarted, node, s)
		e.Since = since(began)
		return e
	}
	all := []state.Event{lost("n1", 1), lost("n2", 1.2), lost("n3", 1.4)}
	taken := of(state.JobTaken, "n2", 20)
	taken.From, taken.To = "n9", "n2"
	for _, c := range []struct {
		name string
		more []state.Event
		want string // the text of the oldest story
		over bool
	}{
		{"it lasts", nil, "n1, n2 and n3 without store since 12:00:00.0", false},
		{"it lasts for one", []state.Event{back("n1", 9, 0), back("n3", 9.1, 0.4)},
			"n1, n2 and n3 without store since 12:00:00.0", false},
		{"one left meanwhile", []state.Event{back("n1", 9, 0), about(state.MemberLeft, "n1", "n2", 4, -99),
			back("n3", 9.1, 0.4), started("n2", 12, 10)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"one was restarted, which nobody has seen", []state.Event{back("n1", 9, 0), started("n2", 12, 10),
			back("n3", 9.1, 0.4)}, "n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"one has died soon after it", []state.Event{back("n1", 9, 0), back("n2", 9.3, 0.2),
			about(state.MemberDead, "n1", "n3", 30, 27)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"all were restarted", []state.Event{started("n1", 30, 28), started("n2", 31, 28), started("n3", 32, 28)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:32.0 at the latest", true},
		{"one takes a job", []state.Event{taken, back("n1", 9, 0), back("n3", 9.1, 0.4)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"one runs since before", []state.Event{started("n2", 9, -60), back("n1", 9, 0), back("n3", 9.1, 0.4)},
			"n1, n2 and n3 without store since 12:00:00.0", false},
		{"the next one", []state.Event{back("n1", 9, 0), back("n3", 9.1, 0.4), lost("n2", 600), back("n2", 610, 599)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"the next one, whose beginning is forgotten", []state.Event{back("n1", 9, 0), back("n3", 9.1, 0.4),
			back("n2", 610, 599)}, "n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"the next one, while it lasts", []state.Event{back("n1", 9, 0), started("n2", 60, 58), back("n3", 9.1, 0.4),
			lost("n1", 599), lost("n2", 600)}, "n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			stories := events.Stories(events.Merge(all, c.more))
			oldest := stories[len(stories)-1]
			if oldest.Text != c.want || oldest.Over != c.over {
				t.Errorf("%+v\nwant %q", stories, c.want)
			}
		})
	}

	t.Run("to one node alone, which died", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{lost("n2", 1),
			about(state.MemberDead, "n1", "n2", 30, 27)}))
		if len(stories) != 1 ||
			stories[0].Text != "n2 silent 12:00:27.0, given up 12:00:30.0, "+
				"n2 without store from 12:00:00.0 until given up 12:00:30.0" {
			t.Errorf("%+v", stories)
		}
	})
	t.Run("an older end does not last into the next one", func(t *testing.T) {
		var got []string
		for _, s := range events.Stories(events.Merge([]state.Event{lost("n2", 1), started("n2", 900, 890)},
			[]state.Event{lost("n3", 300), back("n3", 310, 299)})) {
			got = append(got, s.Text)
		}
		want := []string{"n3 without store from 12:04:59.0 to 12:05:10.0",
			"n2 without store from 12:00:00.0 to 12:15:00.0 at the latest"}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
}

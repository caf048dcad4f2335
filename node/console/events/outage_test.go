package events_test

import (
	"fmt"
	"slices"
	"strings"
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
	paused := about(state.NodePaused, "n3", "n3", 40, 5)
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
		{"one was paused, and given up", []state.Event{back("n1", 9, 0), back("n2", 9.3, 0.2),
			about(state.MemberDead, "n1", "n3", 8, 5), paused, back("n3", 41, 0.4)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"one was paused, which it tells last", []state.Event{back("n1", 9, 0), back("n2", 9.3, 0.2),
			about(state.MemberDead, "n1", "n3", 8, 5), back("n3", 39.9, 0.4), paused},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:09.0", true},
		{"one was paused later", []state.Event{back("n1", 9, 0), back("n2", 9.3, 0.2), back("n3", 30, 0.4),
			about(state.NodePaused, "n3", "n3", 40, 35)},
			"n1, n2 and n3 without store from 12:00:00.0 to 12:00:30.0", true},
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

	t.Run("twice, of which one node that was restarted does not tell", func(t *testing.T) {
		var got []string
		for _, s := range events.Stories(events.Merge([]state.Event{lost("n1", 1), back("n1", 4, 0), lost("n1", 6),
			back("n1", 9, 5), about(state.MemberRestart, "n1", "n2", 8, 7)}, []state.Event{lost("n2", 1.2)})) {
			got = append(got, s.Text)
		}
		want := []string{"n2 silent 12:00:07.0, back 12:00:08.0", "n1 without store from 12:00:05.0 to 12:00:09.0",
			"n1 and n2 without store from 12:00:00.0 to 12:00:04.0"}
		if !slices.Equal(got, want) {
			t.Errorf("%q\nwant %q", got, want)
		}
	})
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

// A store that does not answer is told in the story of the member that had it, or of the member that it did not answer,
// and otherwise has a story of its own.
func TestStories_store(t *testing.T) {
	lost := func(node string, s float64) state.Event {
		return state.Event{ID: fmt.Sprintf("%s/z/%d", node, int(10*s)), Node: node, At: at(s), Kind: state.StoreLost,
			Text: "the store does not answer"}
	}
	back := func(node string, s, from float64) state.Event {
		return state.Event{ID: fmt.Sprintf("%s/z/%d", node, int(10*s)), Node: node, At: at(s), Since: since(from),
			Kind: state.StoreBack, Text: "the store answers again"}
	}
	told := func(lists ...[]state.Event) string {
		var b strings.Builder
		for _, s := range events.Stories(events.Merge(lists...)) {
			fmt.Fprintf(&b, "%s | %s | %v %s %s %s\n", s.Title, s.Text, s.Over, s.Severity, s.Member, s.Stores)
			for _, l := range s.Lines {
				fmt.Fprintf(&b, "  %.1f %s %s\n", l.After, l.Text, l.Nodes)
			}
		}
		return b.String()
	}
	check := func(t *testing.T, got, want string) {
		t.Helper()
		if want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "\t", ""); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	silent := state.Event{ID: "n2/b/1", Node: "n2", At: at(3), Since: since(0), Kind: state.MemberDead, Member: "n1",
		Text: "n1 was given up"}
	returned := state.Event{ID: "n2/b/2", Node: "n2", At: at(9), Kind: state.MemberReturned, Member: "n1",
		Text: "n1 is back"}
	t.Run("of a member that has died", func(t *testing.T) {
		check(t, told([]state.Event{silent, lost("n2", 3.1)}, []state.Event{lost("n3", 4)}), `
			n1 does not answer and was given up | n1 silent 12:00:00.0, given up 12:00:03.0, `+
			`n2 and n3 without store since 12:00:03.1 | false error n1 [n2 n3]
			  0.0 n1 was last heard [n2]
			  3.0 n1 has not answered for 3.0 s and was given up [n2]
			  3.1 the store does not answer [n2 n3]
			`)
		check(t, told([]state.Event{silent, lost("n2", 3.1), returned, back("n2", 9.5, 0.4)},
			[]state.Event{lost("n3", 4), back("n3", 11, 1)}), `
			n1 did not answer and is back | n1 silent 12:00:00.0, given up 12:00:03.0, back 12:00:09.0, `+
			`n2 and n3 without store from 12:00:00.4 to 12:00:09.5 | true good n1 [n2 n3]
			  0.0 n1 was last heard [n2]
			  3.0 n1 has not answered for 3.0 s and was given up [n2]
			  3.1 the store does not answer [n2 n3]
			  9.0 n1 is back, gone for 9.0 s [n2]
			  9.5 the store answers again [n2 n3]
			`)
		got := told([]state.Event{silent, lost("n2", 3.1), returned}, []state.Event{lost("n3", 4), back("n3", 11, 1)})
		if !strings.Contains(got, "| false error n1 [n2 n3]") {
			t.Errorf("a store that is not back for all: %s", got)
		}
	})
	t.Run("of the member that has it, and not of another one that went a moment later", func(t *testing.T) {
		other := state.Event{ID: "n2/b/3", Node: "n2", At: at(3.2), Since: since(1), Kind: state.MemberDead,
			Member: "n3", Text: "n3 was given up"}
		asked, unaware := lost("n2", 1.2), lost("n4", 1.5)
		told := func() (list []string) {
			merged := events.Merge([]state.Event{silent, other, asked}, []state.Event{unaware})
			for _, s := range events.Stories(merged) {
				list = append(list, fmt.Sprint(s.Title, s.Stores))
			}
			return list
		}
		if got := told(); !slices.Equal(got, []string{"n3 does not answer and was given up[n2 n4]",
			"n1 does not answer and was given up[]"}) {
			t.Errorf("nobody knows: %q", got)
		}
		asked.From = "n1"
		if got := told(); !slices.Equal(got, []string{"n3 does not answer and was given up[]",
			"n1 does not answer and was given up[n2 n4]"}) {
			t.Errorf("n2 knows: %q", got)
		}
		for _, s := range events.Stories(events.Merge([]state.Event{silent, asked, back("n2", 6, 1.2)},
			[]state.Event{unaware, back("n4", 6, 1.5)})) {
			if s.Member != "n1" || s.Over || !strings.Contains(s.Text, "n2 and n4 without store from 12:00:01.2 to") {
				t.Errorf("another node has the store now: %+v", s)
			}
		}
		asked.From = "n5"
		if got := told(); !slices.Contains(got, "the store does not answer n2 and n4[n2 n4]") {
			t.Errorf("it has not gone: %q", got)
		}
	})
	t.Run("since the same time while it lasts and afterwards", func(t *testing.T) {
		gone := lost("n2", 3.1)
		gone.Since = since(1.1)
		open, over := told([]state.Event{gone}), told([]state.Event{gone, back("n2", 9.5, 1.1)})
		if !strings.Contains(open, "n2 without store since 12:00:01.1 ") ||
			!strings.Contains(over, "n2 without store from 12:00:01.1 to 12:00:09.5 ") {
			t.Errorf("%s%s", open, over)
		}
	})
	t.Run("that does not answer one node", func(t *testing.T) {
		check(t, told([]state.Event{lost("n2", 1), back("n2", 9, 0.5)}), `
			the store did not answer n2 for a while | n2 without store from 12:00:00.5 to 12:00:09.0 | true good  [n2]
			  0.5 the store does not answer [n2]
			  8.5 the store answers again [n2]
			`)
		check(t, told([]state.Event{lost("n2", 1), back("n2", 9, 0.5), lost("n2", 30)}), `
			the store does not answer n2 | n2 without store since 12:00:30.0 | false error  [n2]
			  0.0 the store does not answer [n2]
			the store did not answer n2 for a while | n2 without store from 12:00:00.5 to 12:00:09.0 | true good  [n2]
			  0.5 the store does not answer [n2]
			  8.5 the store answers again [n2]
			`)
	})
	t.Run("that a member without network does not reach", func(t *testing.T) {
		check(t, told([]state.Event{silent, returned}, []state.Event{lost("n1", 2), back("n1", 10, 1)}), `
			n1 did not answer and is back | n1 silent 12:00:00.0, given up 12:00:03.0, back 12:00:09.0, `+
			`n1 without store from 12:00:01.0 to 12:00:10.0 | true good n1 [n1]
			  0.0 n1 was last heard [n2]
			  2.0 the store does not answer [n1]
			  3.0 n1 has not answered for 3.0 s and was given up [n2]
			  9.0 n1 is back, gone for 9.0 s [n2]
			  10.0 the store answers again [n1]
			`)
	})
	t.Run("of a member that was paused twice, which is told each time", func(t *testing.T) {
		again := func(e state.Event, s, from float64) state.Event {
			e.ID, e.At, e.Since = e.ID+"x", at(s), since(from)
			return e
		}
		check(t, told([]state.Event{silent, lost("n2", 3.1), again(returned, 4, 3), back("n2", 5, 1.1),
			again(silent, 7.5, 5.2), lost("n2", 7.7), again(again(returned, 9, 7.5), 9, 7.5), back("n2", 10, 5.7)}), `
			n1 did not answer and is back | n1 silent 12:00:05.2, given up 12:00:07.5, back 12:00:09.0, `+
			`n2 without store from 12:00:05.7 to 12:00:10.0 | true good n1 [n2]
			  0.0 n1 was last heard [n2]
			  2.3 n1 has not answered for 2.3 s and was given up [n2]
			  2.5 the store does not answer [n2]
			  3.8 n1 is back, gone for 3.8 s [n2]
			  4.8 the store answers again [n2]
			n1 did not answer and is back | n1 silent 12:00:00.0, given up 12:00:03.0, back 12:00:04.0, `+
			`n2 without store from 12:00:01.1 to 12:00:05.0 | true good n1 [n2]
			  0.0 n1 was last heard [n2]
			  3.0 n1 has not answered for 3.0 s and was given up [n2]
			  3.1 the store does not answer [n2]
			  4.0 n1 is back, gone for 4.0 s [n2]
			  5.0 the store answers again [n2]
			`)
	})
	t.Run("that others lack too who go meanwhile, which is told once", func(t *testing.T) {
		for _, went := range []float64{1, 5} { // before it was found that the store does not answer, and after it
			dead := state.Event{ID: "n3/b/3", Node: "n3", At: at(went + 3), Since: since(went), Kind: state.MemberDead,
				Member: "n2"}
			got := told([]state.Event{silent, lost("n2", 3.1), returned}, []state.Event{lost("n3", 3.2), dead,
				back("n3", 11, 1)})
			if strings.Count(got, "without store") != 1 || !strings.Contains(got,
				"n1 silent 12:00:00.0, given up 12:00:03.0, back 12:00:09.0, n2 and n3 without store from 12:00:01.0") {
				t.Errorf("n2 goes after %v s:\n%s", went, got)
			}
		}
	})
	t.Run("in whose story are jobs of members that could not keep them", func(t *testing.T) {
		taken := func(s float64, job int) state.Event {
			return state.Event{ID: fmt.Sprint("n1/a/", job), Node: "n1", At: at(s), Kind: state.JobTaken, From: "n3",
				To: "n1", Job: fmt.Sprint("index db/", job), Text: "one goes on"}
		}
		check(t, told([]state.Event{silent, lost("n2", 3.1), returned, back("n2", 9.5, 0.4)},
			[]state.Event{lost("n3", 4), back("n3", 11, 1)},
			[]state.Event{taken(9.6, 1), taken(9.7, 2), taken(900, 3)}), `
			n1 did not answer and is back | n1 silent 12:00:00.0, given up 12:00:03.0, back 12:00:09.0, `+
			`n2 and n3 without store from 12:00:00.4 to 12:00:09.5, `+
			`2 jobs of n3 resumed 12:00:09.6 | true good n1 [n2 n3]
			  0.0 n1 was last heard [n2]
			  3.0 n1 has not answered for 3.0 s and was given up [n2]
			  3.1 the store does not answer [n2 n3]
			  9.0 n1 is back, gone for 9.0 s [n2]
			  9.5 the store answers again [n2 n3]
			  9.6 2 jobs of n3 go on at n1 [n1]
			`)
	})
	t.Run("of the member that is back, and not of another one that went then", func(t *testing.T) {
		other := silent
		other.ID, other.Member, other.Since = "n2/b/3", "n4", since(1)
		restarted := state.Event{ID: "n2/b/4", Node: "n2", At: at(5), Since: since(2.5), Kind: state.MemberRestart,
			Member: "n5"}
		got := told([]state.Event{silent, other, restarted, lost("n2", 3.1), returned, back("n2", 9.5, 1.2)})
		if want := "given up 12:00:03.0, back 12:00:09.0, n2 without store"; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	})
	t.Run("for all nodes, long before and long after a member has died", func(t *testing.T) {
		got := told([]state.Event{lost("n2", -600), back("n2", -300, -600), silent, lost("n2", 600)},
			[]state.Event{lost("n3", -599)})
		for _, want := range []string{
			"the store does not answer n2 and n3 | n2 and n3 without store since 11:50:00.0 | false error ",
			"n1 does not answer and was given up | n1 silent 12:00:00.0, given up 12:00:03.0 | false error n1 []\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	})
}

package events_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }

func since(seconds float64) *time.Time { t := at(seconds); return &t }

// death are the events of the death of n2, as n1 and n3 saw it.
func death() [][]state.Event {
	one := []state.Event{
		{ID: "n1/a/1", Node: "n1", At: at(-60), Kind: state.MemberJoined, Member: "n2"},
		{ID: "n1/a/2", Node: "n1", At: at(2.1), Since: since(1), Kind: state.MemberSilent, Member: "n2",
			Text: "n2 has not answered for 1.1 s"},
		{ID: "n1/a/3", Node: "n1", At: at(3.4), Since: since(1), Kind: state.MemberDead, Member: "n2",
			Text: "n2 was given up"},
		{ID: "n1/a/4", Node: "n1", At: at(3.42), Kind: state.ShardsMoved, From: "n2", To: "n1", Count: 3,
			Items: []string{"a", "b", "c"}},
		{ID: "n1/a/5", Node: "n1", At: at(3.43), Kind: state.ShardsMoved, From: "n2", To: "n3", Count: 1,
			Items: []string{"x"}},
		{ID: "n1/a/6", Node: "n1", At: at(3.7), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index orders/1",
			Token: 7},
	}
	three := []state.Event{
		{ID: "n3/b/1", Node: "n3", At: at(3.5), Since: since(0.6), Kind: state.MemberDead, Member: "n2"},
		{ID: "n3/b/2", Node: "n3", At: at(3.52), Kind: state.ShardsMoved, From: "n2", To: "n1", Count: 2,
			Items: []string{"c", "d"}},
		{ID: "n3/b/3", Node: "n3", At: at(3.9), Kind: state.JobTaken, From: "n2", To: "n3", Job: "index orders/2",
			Token: 8},
		{ID: "n3/b/4", Node: "n3", At: at(5), Kind: state.LoginRefused, Address: "10.0.0.1"},
	}
	return [][]state.Event{one, three}
}

func TestStories(t *testing.T) {
	lists := death()
	merged := events.Merge(lists...)
	if len(merged) != 8 || merged[0].ID != "n3/b/4" || merged[len(merged)-1].ID != "n1/a/1" {
		t.Fatalf("%d events: %+v", len(merged), merged)
	}
	stories := events.Stories(merged)
	if len(stories) != 1 {
		t.Fatalf("%d stories: %+v", len(stories), stories)
	}
	s := stories[0]
	want := "n2 silent 12:00:01.0, given up 12:00:03.4, 5 shards to n1 and n3, 2 jobs resumed 12:00:03.7"
	if s.Text != want || s.Title != "n2 does not answer and was given up" || s.Over || s.Severity != state.Error || s.Member != "n2" {
		t.Errorf("story %+v\nwant %q", s, want)
	}
	var lines []string
	for _, l := range s.Lines {
		lines = append(lines, fmt.Sprintf("%.1f %s %s", l.After, l.Text, l.Nodes))
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{"0.0 n2 was last heard [n1]", "1.1 n2 has not answered for 1.1 s [n1]",
		"2.4 n2 has not answered for 2.4 s and was given up [n1 n3]",
		"4 changes shards moved from n2 to n1 [n1 n3]", "2.9 "} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}

	t.Run("it was last heard when any node heard it, also if nobody suspected it", func(t *testing.T) {
		stories := events.Stories(events.Merge(
			[]state.Event{{ID: "n1/a/1", Node: "n1", At: at(3.4), Since: since(0.6), Kind: state.MemberDead, Member: "n2"}},
			[]state.Event{{ID: "n3/b/1", Node: "n3", At: at(3.5), Since: since(1), Kind: state.MemberDead, Member: "n2"}}))
		if len(stories) != 1 || stories[0].Text != "n2 silent 12:00:01.0, given up 12:00:03.4" ||
			!stories[0].Began.Equal(at(1)) {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("an operator has forgotten the member, much later", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/8", Node: "n1", At: at(3400), Kind: state.ActionDone, Member: "n2",
				Object: events.NotDone + "member n2 forgotten", Detail: "n2 is not a member that is gone"},
			{ID: "n1/a/9", Node: "n1", At: at(3500), Kind: state.ActionDone, Member: "n2",
				Object: events.PerhapsNotDone + "member n2 forgotten"}, // its detail is not learned by others
			{ID: "n1/a/10", Node: "n1", At: at(3600), Kind: state.ActionDone, Member: "n2",
				Object: events.PartlyDone + "member n2 forgotten", Text: "n3 did not answer", Detail: "n3 hangs"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 1 || !stories[0].Over || stories[0].Severity != state.Good ||
			stories[0].Title != "n2 did not answer and was forgotten" || !strings.HasSuffix(stories[0].Text,
			"2 jobs resumed 12:00:03.7, forgotten 13:00:00.0") ||
			stories[0].Lines[len(stories[0].Lines)-1].Text != "n3 did not answer" {
			t.Errorf("stories %+v", stories)
		}
		if stories := events.Stories(events.Merge(append(death(), lists[2][:2])...)); stories[0].Over {
			t.Errorf("a member that was not forgotten: %+v", stories)
		}
	})
	t.Run("an operator has forgotten a member of whose silence only one node told, much later", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(2), Since: since(0), Kind: state.MemberSilent, Member: "n2"},
			{ID: "n3/a/1", Node: "n3", At: at(3600), Kind: state.ActionDone, Member: "n2",
				Object: "member n2 forgotten"}}))
		if len(stories) != 1 || !stories[0].Over {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("a node that did not run tells later that a member left that was forgotten meanwhile", func(t *testing.T) {
		left := []state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(2), Since: since(-60), Kind: state.MemberLeft, Member: "n2"},
			{ID: "n1/a/2", Node: "n1", At: at(20), Kind: state.ActionDone, Member: "n2", Object: "member n2 forgotten"}}
		late := []state.Event{
			{ID: "n3/a/1", Node: "n3", At: at(600), Since: since(-59), Kind: state.MemberLeft, Member: "n2"}}
		stories := events.Stories(events.Merge(left, late))
		if len(stories) != 1 || !stories[0].Over || stories[0].Title != "n2 left and was forgotten" {
			t.Errorf("stories %+v", stories)
		}
		late[0].Since = since(500) // it had joined again
		if stories := events.Stories(events.Merge(left, late)); len(stories) != 2 || stories[0].Over {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("jobs are taken before anybody suspects the member, which had been away before", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/0", Node: "n1", At: at(-30), Kind: state.MemberLeft, Member: "n2", Text: "n2 left"},
			{ID: "n1/a/1a", Node: "n1", At: at(-28), Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"},
			{ID: "n1/a/1b", Node: "n1", At: at(-27), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index orders/0",
				Text: "before"},
			{ID: "n1/a/1c", Node: "n1", At: at(1.9), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index orders/3",
				Text: "early"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 2 || stories[0].Text != "n2 silent 12:00:01.0, 1 job resumed 12:00:01.9, "+
			"given up 12:00:03.4, 5 shards to n1 and n3, all 3 resumed by 12:00:03.9" ||
			stories[0].Lines[1].Text != "2 jobs go on at n1" || !stories[0].Lines[1].Until.Equal(at(3.7)) ||
			fmt.Sprint(stories[0].Lines[1].Jobs) != "[index orders/3 index orders/1]" ||
			!strings.Contains(stories[1].Text, "1 job resumed 11:59:33.0") {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("a job is taken after the member is back", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(2), Since: since(0), Kind: state.MemberSilent, Member: "n2"},
			{ID: "n1/a/2", Node: "n1", At: at(3.1), Since: since(0), Kind: state.MemberAnswers, Member: "n2"},
			{ID: "n1/a/3", Node: "n1", At: at(7.2), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index a/1"}}))
		if len(stories) != 1 || stories[0].Text !=
			"n2 silent 12:00:00.0, back 12:00:03.1, 1 job resumed 12:00:07.2" {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("a job is taken before the member leaves", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(0.5), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index a/1"},
			{ID: "n1/a/2", Node: "n1", At: at(1), Kind: state.MemberLeft, Member: "n2"}}))
		if len(stories) != 1 || stories[0].Text != "n2: 1 job resumed 12:00:00.5, left 12:00:01.0" {
			t.Errorf("stories %+v", stories)
		}
	})
	// n1 has heard n2 last at 13.94, and n3 at 14.86: it was silent since then, whoever tells it.
	t.Run("a story, its lines and the events tell the same", func(t *testing.T) {
		merged := events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(16.96), Since: since(13.94), Kind: state.MemberSilent, Member: "n2",
				Text: "n2 has not answered for 3.0 s"},
			{ID: "n1/a/2", Node: "n1", At: at(17.31), Since: since(13.94), Kind: state.MemberDead, Member: "n2",
				Text: "n2 has not answered for 3.4 s and was given up"},
			{ID: "n1/a/3", Node: "n1", At: at(26.05), Since: since(17.31), Kind: state.MemberReturned, Member: "n2"}},
			[]state.Event{
				{ID: "n3/a/1", Node: "n3", At: at(17.92), Since: since(14.86), Kind: state.MemberDead, Member: "n2"},
				{ID: "n3/a/2", Node: "n3", At: at(25.93), Since: since(17.92), Kind: state.MemberReturned,
					Member: "n2"}})
		texts := map[string]bool{}
		for _, e := range merged {
			texts[e.Text] = true
		}
		stories := events.Stories(merged)
		if len(stories) != 1 || stories[0].Text != "n2 silent 12:00:14.8, given up 12:00:17.3, back 12:00:25.9" ||
			stories[0].Ended.Sub(stories[0].Began) != 11100*time.Millisecond {
			t.Fatalf("stories %+v", stories)
		}
		var got []string
		for i, l := range stories[0].Lines {
			got = append(got, fmt.Sprintf("%s +%.1f %s", l.At.Format("05.0"), l.After, l.Text))
			if i > 0 && !texts[l.Text] {
				t.Errorf("no event tells %q: %v", l.Text, texts)
			}
		}
		want := []string{"14.8 +0.0 n2 was last heard", "16.9 +2.1 n2 has not answered for 2.1 s",
			"17.3 +2.5 n2 has not answered for 2.5 s and was given up", "25.9 +11.1 n2 is back, gone for 11.1 s"}
		if !slices.Equal(got, want) {
			t.Errorf("lines %q, want %q", got, want)
		}
	})
	t.Run("the member was paused", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n2/a/9", Node: "n2", At: at(10), Since: since(0.5), Kind: state.NodePaused, Member: "n2", Text: "n2 paused"},
			{ID: "n1/a/9", Node: "n1", At: at(11), Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 1 || !strings.HasSuffix(stories[0].Text, ", back 12:00:10.0") ||
			stories[0].Title != "n2 was paused and is back" ||
			!strings.Contains(fmt.Sprint(stories[0].Lines), "n2 paused") {
			t.Errorf("stories %+v", stories)
		}
	})
	// A paused n3 hears of nothing, and is told by a version that counts what n3 missed as heard.
	t.Run("another node was paused when the member died", func(t *testing.T) {
		dead := func(node string, kind state.EventKind, s, last float64) state.Event {
			return state.Event{ID: fmt.Sprint(node, "/a/", s), Node: node, At: at(s), Since: since(last), Kind: kind,
				Member: "n2"}
		}
		s := events.Stories(events.Merge([]state.Event{dead("n1", state.MemberSilent, 55.1, 53.3),
			dead("n1", state.MemberDead, 57.8, 53.3), dead("n1", state.MemberReturned, 70, 57.8)},
			[]state.Event{dead("n3", state.MemberSilent, 61.9, 59.5), dead("n3", state.MemberDead, 62, 59.5),
				{ID: "n3/a/0", Node: "n3", At: at(59.9), Since: since(52), Kind: state.NodePaused, Member: "n3"}}))
		if len(s) != 1 || s[0].Text != "n2 silent 12:00:53.3, given up 12:00:57.8, back 12:01:10.0" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("it tells itself first that it runs again", func(t *testing.T) {
		paused := func(s float64) state.Event {
			return state.Event{ID: fmt.Sprint("n2/a/", s), Node: "n2", At: at(s), Since: since(s - 1),
				Kind: state.NodePaused, Member: "n2"}
		}
		returned := state.Event{ID: "n1/a/9", Node: "n1", At: at(11.2), Kind: state.MemberReturned, Member: "n2"}
		started := state.Event{ID: "n2/b/1", Node: "n2", At: at(9.2), Since: since(8), Kind: state.NodeStarted}
		for _, c := range []struct {
			more []state.Event
			want string
		}{
			{[]state.Event{returned, paused(7.2)}, ", back 12:00:07.2"},
			{[]state.Event{returned, paused(2.2)}, ", back 12:00:11.2"}, // before it died
			{[]state.Event{returned, started}, ", back 12:00:09.2"},
			{[]state.Event{paused(7.2)}, ", 2 jobs resumed 12:00:03.7"}, // nobody else sees it
		} {
			s := events.Stories(events.Merge(append(death(), c.more)...))
			if len(s) != 1 || !strings.HasSuffix(s[0].Text, c.want) {
				t.Errorf("%+v\nwant %s", s, c.want)
			}
		}
	})
	t.Run("a drain explains that it left, and what moved before", func(t *testing.T) {
		leave := []state.Event{
			{ID: "n2/a/1", Node: "n2", At: at(1), Kind: state.Draining, Text: "n2 is being drained"},
			{ID: "n1/a/1", Node: "n1", At: at(1.2), Kind: state.ShardsMoved, From: "n2", To: "n1", Count: 17},
			{ID: "n1/a/2", Node: "n1", At: at(3.3), Since: since(-99), Kind: state.MemberLeft, Member: "n2"}}
		s := events.Stories(events.Merge(leave))
		if len(s) != 1 || s[0].Text != "n2: 17 shards to n1, left 12:00:03.3" || s[0].Title != "n2 left" ||
			s[0].Lines[0].Text != "n2 is being drained" || len(s[0].Lines) != 3 {
			t.Errorf("%+v", s)
		}
		leave = append(leave, state.Event{ID: "n1/a/3", Node: "n1", At: at(5), Kind: state.MemberReturned, Member: "n2"},
			state.Event{ID: "n1/a/4", Node: "n1", At: at(30), Since: since(5), Kind: state.MemberLeft, Member: "n2"})
		if s := events.Stories(events.Merge(leave)); len(s) != 2 || len(s[0].Lines) != 1 {
			t.Errorf("the next leave has lines of this one: %+v", s)
		}
	})
	t.Run("it is known to have died only if it has started anew meanwhile", func(t *testing.T) {
		back := state.Event{ID: "n1/a/9", Node: "n1", At: at(11), Kind: state.MemberReturned, Member: "n2",
			Text: "n2 is back"}
		started := func(node string, began, s float64) state.Event {
			return state.Event{ID: node + "/x/1", Node: node, At: at(s), Since: since(began), Kind: state.NodeStarted,
				Text: node + " has started"}
		}
		for _, c := range []struct {
			events []state.Event
			want   string
		}{
			{[]state.Event{back}, "n2 did not answer and is back"},
			{[]state.Event{back, started("n2", 10, 12)}, "n2 died and is back"},
			{[]state.Event{back, started("n2", 10, 30)}, "n2 died and is back"}, // it waited for its store
			{[]state.Event{started("n2", 10, 10.5)}, "n2 died"},                 // it does not reach the others
			{[]state.Event{started("n2", 2000, 2001)}, "n2 died"},
			{[]state.Event{started("n2", -50, -49), back}, "n2 did not answer and is back"},
			{[]state.Event{back, started("n3", 10, 12)}, "n2 did not answer and is back"},
			{[]state.Event{back, started("n2", 600, 601)}, "n2 did not answer and is back"}, // later, for another reason
			{[]state.Event{{ID: "n1/a/9", Node: "n1", At: at(11), Kind: state.MemberRestart, Member: "n2"}},
				"n2 died and is back"},
			{[]state.Event{{ID: "n1/a/9", Node: "n1", At: at(4), Kind: state.MemberLeft, Member: "n2"}, back,
				started("n2", 10, 12)}, "n2 left and is back"},
			{[]state.Event{{ID: "n2/a/9", Node: "n2", At: at(10), Kind: state.NodePaused, Member: "n2"}},
				"n2 was paused"},
		} {
			s := events.Stories(events.Merge(append(death(), c.events)...))
			if len(s) != 1 || s[0].Title != c.want {
				t.Errorf("%+v: %+v, want %s", c.events, s, c.want)
			}
		}
		again := []state.Event{back, {ID: "n1/a/10", Node: "n1", At: at(20), Since: since(18), Kind: state.MemberDead,
			Member: "n2"}, started("n2", 30, 31),
			{ID: "n1/a/11", Node: "n1", At: at(30.5), Kind: state.MemberReturned, Member: "n2"}}
		s := events.Stories(events.Merge(append(death(), again)...))
		if len(s) != 2 || s[0].Title != "n2 died and is back" || s[1].Title != "n2 did not answer and is back" ||
			!strings.Contains(fmt.Sprint(s[0].Lines), "n2 has started") {
			t.Errorf("after it was paused it died: %+v", s)
		}
	})
	t.Run("a node suspects it after others have seen that it has restarted", func(t *testing.T) {
		seen := func(id, node string, s, from float64, kind state.EventKind) state.Event {
			return state.Event{ID: id, Node: node, At: at(s), Since: since(from), Kind: kind, Member: "n1"}
		}
		stories := events.Stories(events.Merge(
			[]state.Event{seen("n3/a/1", "n3", 2, 0, state.MemberRestart)},
			[]state.Event{seen("n2/a/1", "n2", 3, -1, state.MemberSilent),
				seen("n2/a/2", "n2", 3.0003, -1, state.MemberRestart)}))
		if len(stories) != 1 || !stories[0].Over {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("another node sees it join before the others do", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n4/a/1", Node: "n4", At: at(10), Kind: state.MemberJoined, Member: "n2", Text: "n2 joined"},
			{ID: "n1/a/8", Node: "n1", At: at(11), Since: since(10.5), Kind: state.MemberDead, Member: "n2"},
			{ID: "n1/a/9", Node: "n1", At: at(12), Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 2 || !strings.HasSuffix(stories[1].Text, ", back 12:00:10.0") ||
			stories[0].Text != "n2 silent 12:00:10.5, given up 12:00:11.0, back 12:00:12.0" {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("what happens later is not part of a story that is over", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/9", Node: "n1", At: at(10), Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"},
			{ID: "n3/b/9", Node: "n3", At: at(11), Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"},
			{ID: "n4/a/1", Node: "n4", At: at(40), Kind: state.MemberJoined, Member: "n2", Text: "n2 joined"},
			{ID: "n1/a/10", Node: "n1", At: at(60), Kind: state.ShardsMoved, From: "n2", To: "n1", Count: 7},
			{ID: "n1/a/11", Node: "n1", At: at(61), Since: since(10), Kind: state.MemberLeft, Member: "n2", Text: "n2 left"},
			{ID: "n1/a/12", Node: "n1", At: at(90), Kind: state.MemberRestart, Member: "n2", Text: "n2 is back"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 2 || stories[0].Text != "n2: 7 shards to n1, left 12:01:01.0, back 12:01:30.0" ||
			!strings.HasSuffix(stories[1].Text, "5 shards to n1 and n3, 2 jobs resumed 12:00:03.7, back 12:00:10.0") ||
			stories[1].Ended.After(at(11)) {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("the member is back, much later", func(t *testing.T) {
		lists := append(death(), []state.Event{{ID: "n1/a/9", Node: "n1", At: at(3600), Since: since(3.4),
			Kind: state.MemberReturned, Member: "n2", Text: "n2 is back"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 1 || !stories[0].Over || stories[0].Severity != state.Good ||
			stories[0].Title != "n2 did not answer and is back" || !strings.HasSuffix(stories[0].Text, "back 13:00:00.0") {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("it is back, and another node has not seen that it was gone", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/9", Node: "n1", At: at(10), Kind: state.MemberReturned, Member: "n2"},
			{ID: "n4/a/10", Node: "n4", At: at(10.2), Since: since(0.9), Kind: state.MemberRestart, Member: "n2"},
		})
		stories := events.Stories(events.Merge(lists...))
		want := "n2 silent 12:00:01.0, given up 12:00:03.4, 5 shards to n1 and n3, 2 jobs resumed 12:00:03.7, " +
			"back 12:00:10.0"
		if len(stories) != 1 || stories[0].Text != want || stories[0].Title != "n2 did not answer and is back" {
			t.Errorf("stories %+v\nwant %s", stories, want)
		}
	})
	t.Run("it has restarted before anybody noticed that it was gone", func(t *testing.T) {
		taken := state.Event{ID: "n1/a/4", Node: "n1", At: at(2.4), Kind: state.JobTaken, From: "n2", To: "n1"}
		restarted := state.Event{ID: "n1/a/3", Node: "n1", At: at(2.2), Since: since(1), Kind: state.MemberRestart,
			Member: "n2"}
		again := state.Event{ID: "n1/a/5", Node: "n1", At: at(5), Since: since(3), Kind: state.MemberRestart,
			Member: "n2"}
		s := events.Stories(events.Merge([]state.Event{restarted, taken, again}))
		if len(s) != 2 || s[1].Text != "n2 silent 12:00:01.0, back 12:00:02.2, 1 job resumed 12:00:02.4" ||
			s[1].Title != "n2 died and is back" || !s[1].Over || s[0].Text != "n2 silent 12:00:03.0, back 12:00:05.0" {
			t.Errorf("stories %+v", s)
		}
	})
	t.Run("a job is taken, and the member tells that it was paused, after an hour", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/7", Node: "n1", At: at(3600), Kind: state.JobTaken, From: "n2", To: "n1"},
			{ID: "n2/a/8", Node: "n2", At: at(3700), Since: since(1), Kind: state.NodePaused, Member: "n2"}})
		s := events.Stories(events.Merge(lists...))
		if len(s) != 1 || !strings.HasSuffix(s[0].Text, ", all 3 resumed by 13:00:00.0") ||
			s[0].Title != "n2 was paused" {
			t.Errorf("stories %+v", s)
		}
	})
	// Each of n1 and n3 sees an outage that the other one does not.
	t.Run("it is gone twice within some seconds", func(t *testing.T) {
		of := func(node string, s, from float64, kind state.EventKind) state.Event {
			return state.Event{ID: fmt.Sprint(node, "/a/", s), Node: node, At: at(s), Since: since(from), Kind: kind,
				Member: "n2"}
		}
		moved := func(node string, s float64) state.Event {
			return state.Event{ID: fmt.Sprint(node, "/a/", s), Node: node, At: at(s), Kind: state.ShardsMoved,
				From: "n2", To: "n1", Count: 3, Items: []string{"a", "b", "c"}}
		}
		s := events.Stories(events.Merge([]state.Event{of("n1", 3, 0, state.MemberDead), moved("n1", 3.1),
			of("n1", 4, 3, state.MemberReturned), of("n2", 4.1, 0.1, state.NodePaused)},
			[]state.Event{of("n3", 8, 5, state.MemberDead), moved("n3", 8.1), of("n3", 9, 8, state.MemberReturned),
				{ID: "n3/a/7", Node: "n3", At: at(9.1), Kind: state.NameClash, Member: "n2"}}))
		if len(s) != 2 || s[0].Text != "n2 silent 12:00:05.0, given up 12:00:08.0, 3 shards to n1, back 12:00:09.0" ||
			s[1].Text != "n2 silent 12:00:00.0, given up 12:00:03.0, 3 shards to n1, back 12:00:04.0" ||
			s[1].Title != "n2 was paused and is back" || len(s[0].Lines) != 4 || len(s[1].Lines) != 5 {
			t.Errorf("stories %+v", s)
		}
	})
	t.Run("it dies again", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/9", Node: "n1", At: at(10), Kind: state.MemberReturned, Member: "n2"},
			{ID: "n1/a/10", Node: "n1", At: at(20), Since: since(18), Kind: state.MemberDead, Member: "n2"},
		})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 2 || stories[0].Over || !stories[1].Over || stories[0].Text !=
			"n2 silent 12:00:18.0, given up 12:00:20.0" {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("a regular stop", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(1), Kind: state.MemberLeft, Member: "n2", Text: "n2 left as announced"},
			{ID: "n1/a/2", Node: "n1", At: at(1.2), Kind: state.JobTaken, From: "n2", To: "n1", Job: "index a/1"},
		}))
		if len(stories) != 1 || stories[0].Text != "n2 left 12:00:01.0, 1 job resumed 12:00:01.2" ||
			stories[0].Severity != state.Info || stories[0].Title != "n2 left" {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("a late answer is not a death", func(t *testing.T) {
		stories := events.Stories(events.Merge([]state.Event{
			{ID: "n1/a/1", Node: "n1", At: at(2), Since: since(0), Kind: state.MemberSilent, Member: "n2"},
			{ID: "n1/a/2", Node: "n1", At: at(3), Since: since(0), Kind: state.MemberAnswers, Member: "n2"},
		}))
		if len(stories) != 1 || stories[0].Text != "n2 silent 12:00:00.0, back 12:00:03.0" ||
			stories[0].Title != "n2 did not answer for a while" {
			t.Errorf("stories %+v", stories)
		}
	})
	t.Run("no story", func(t *testing.T) {
		for _, kind := range []state.EventKind{state.MemberJoined, state.JobTaken, state.ShardsMoved,
			state.MemberReturned, state.LoginRefused} {
			e := []state.Event{{ID: "n1/a/1", Node: "n1", At: noon, Kind: kind, Member: "n2", From: "n2"}}
			if stories := events.Stories(events.Merge(e)); len(stories) != 0 {
				t.Errorf("%s: %+v", kind, stories)
			}
		}
	})
	if _, err := json.Marshal(stories); err != nil {
		t.Error(err)
	}
}

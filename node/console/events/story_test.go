package events_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
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
			{ID: "n1/a/9", Node: "n1", At: at(3500), Kind: state.ActionDone, Member: "n2", User: "anna",
				Text: "member n2 forgotten: failed by anna", Detail: "n2 is not a member that is gone"},
			{ID: "n1/a/10", Node: "n1", At: at(3600), Kind: state.ActionDone, Member: "n2", User: "anna",
				Text: "member n2 forgotten by anna"}})
		stories := events.Stories(events.Merge(lists...))
		if len(stories) != 1 || !stories[0].Over || stories[0].Severity != state.Good ||
			stories[0].Title != "n2 did not answer and was forgotten" || !strings.HasSuffix(stories[0].Text,
			"2 jobs resumed 12:00:03.7, forgotten 13:00:00.0") ||
			stories[0].Lines[len(stories[0].Lines)-1].Text != "member n2 forgotten by anna" {
			t.Errorf("stories %+v", stories)
		}
		if stories := events.Stories(events.Merge(append(death(), lists[2][:1])...)); stories[0].Over {
			t.Errorf("a member that was not forgotten: %+v", stories)
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
			"17.3 +2.5 n2 has not answered for 2.5 s and was given up", "25.9 +11.1 n2 is back, gone for 8.6 s"}
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
	t.Run("it is back, and takes a new id because it was given up", func(t *testing.T) {
		lists := append(death(), []state.Event{
			{ID: "n1/a/9", Node: "n1", At: at(10), Kind: state.MemberReturned, Member: "n2"},
			{ID: "n1/a/10", Node: "n1", At: at(10.2), Kind: state.MemberRestart, Member: "n2"},
		})
		stories := events.Stories(events.Merge(lists...))
		want := "n2 silent 12:00:01.0, given up 12:00:03.4, 5 shards to n1 and n3, 2 jobs resumed 12:00:03.7, " +
			"back 12:00:10.0"
		if len(stories) != 1 || stories[0].Text != want || stories[0].Title != "n2 did not answer and is back" {
			t.Errorf("stories %+v\nwant %s", stories, want)
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

// Nodes that find out at different times that views skip documents report the same, until they are twice as many.
func TestMerge_skips(t *testing.T) {
	skips := func(node string, s float64, n int64) state.Event {
		return state.Event{ID: fmt.Sprintf("%s/a/%v", node, s), Node: node, At: at(s), Kind: state.IndexErrors,
			Database: "db", Object: "_design/d", Count: n}
	}
	var got []string
	for _, e := range events.Merge([]state.Event{skips("n1", 0, 1), skips("n1", 60, 2), skips("n1", 600, 4)},
		[]state.Event{skips("n2", 50, 1), skips("n2", 90, 3), skips("n2", 120, 6), skips("n2", 1000, 12)}) {
		got = append(got, fmt.Sprint(e.Node, " ", e.Count, e.Also))
	}
	if want := "[n2 12 [] n1 4 [] n2 6 [] n1 2 [n2] n1 1 [n2]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
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
			  9.0 n1 is back, gone for 6.0 s [n2]
			  9.5 the store answers again [n2 n3]
			`)
		got := told([]state.Event{silent, lost("n2", 3.1), returned}, []state.Event{lost("n3", 4), back("n3", 11, 1)})
		if !strings.Contains(got, "| false error n1 [n2 n3]") {
			t.Errorf("a store that is not back for all: %s", got)
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
			  9.0 n1 is back, gone for 6.0 s [n2]
			  10.0 the store answers again [n1]
			`)
	})
	t.Run("for all nodes, long before and long after a member has died", func(t *testing.T) {
		got := told([]state.Event{lost("n2", -600), back("n2", -300, -600), silent, lost("n2", 600)},
			[]state.Event{lost("n3", -599)})
		for _, want := range []string{"the store does not answer n2 and n3 | n2 and n3 without store since 11:50:00.0 | false error ",
			"n1 does not answer and was given up | n1 silent 12:00:00.0, given up 12:00:03.0 | false error n1 []\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	})
}

// What is not told may have been forgotten before the last start of a node, and where strangers have displaced it.
func TestComplete(t *testing.T) {
	started := func(node string, s float64) state.Event {
		return state.Event{ID: fmt.Sprint(node, "/a/", s), Node: node, At: at(s), Kind: state.NodeStarted}
	}
	base := []state.Event{started("n1", 0), started("n2", 60),
		{ID: "n1/a/2", Node: "n1", At: at(100), Kind: state.MemberJoined, Member: "n3"}}
	for want, more := range map[float64][]state.Event{
		60: nil,
		90: {started("n1", 90)},
		80: {{ID: "n3/a/1", Node: "n3", At: at(80), Kind: state.StoreLost},
			{ID: "n3/a/2", Node: "n3", At: at(200), Kind: state.StoreBack}}, // which has forgotten its start
	} {
		if got := events.Complete(events.Merge(base, more)); !got.Equal(at(want)) {
			t.Errorf("since %v, want %v", got, at(want))
		}
	}
	if got := events.Complete(nil); !got.IsZero() {
		t.Errorf("of nothing: %v", got)
	}
	r := events.New("n1", slog.New(slog.DiscardHandler))
	r.Record(state.Event{Kind: state.NodeStarted, At: at(0)})
	for i := range 400 {
		r.Record(state.Event{Kind: state.SlowStatement, At: at(float64(60 * i))})
	}
	if got := events.Complete(events.Merge(r.List(time.Time{}, 1000))); !got.Equal(at(60 * 200)) {
		t.Errorf("after many statements: since %v", got)
	}
}

// A node may tell shorter than it was that a member was up, since it has joined later itself. All reports are one row.
func TestMerge_upFor(t *testing.T) {
	const long = "n2 left as announced, up for 1 min 22 s"
	left := func(node string, s, up float64) state.Event {
		e := state.Event{ID: node + "/a/1", Node: node, At: at(s), Since: since(s - up), Kind: state.MemberLeft,
			Member: "n2", Seconds: up, Text: "n2 left as announced, up for 3.0 s"}
		if up > 3 {
			e.Text = long
		}
		return e
	}
	for _, lists := range [][][]state.Event{{{left("n1", 100, 3)}, {left("n3", 100.2, 82.2)}},
		{{left("n1", 100, 82)}, {left("n3", 100.2, 3)}}} {
		merged := events.Merge(lists...)
		if len(merged) != 1 || !merged[0].Since.Equal(at(18)) || merged[0].Seconds != 82 || merged[0].Text != long {
			t.Errorf("%+v", merged)
		}
	}
}

// A node that has not heard yet that others have given up a member suspects it. That is not told after its death.
func TestMerge_lateSuspicion(t *testing.T) {
	of := func(node string, kind state.EventKind, s, last float64) state.Event {
		return state.Event{ID: fmt.Sprintf("%s/a/%v", node, s), Node: node, At: at(s), Since: since(last), Kind: kind,
			Member: "n3"}
	}
	told := func(lists ...[]state.Event) (got []string) {
		for _, e := range events.Merge(lists...) {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Node, e.Also))
		}
		return got
	}
	n2 := []state.Event{of("n2", state.MemberDead, 57.1, 54)}
	late := []state.Event{of("n1", state.MemberSilent, 57.5, 54.5), of("n1", state.MemberDead, 57.9, 54.5)}
	if got := told(n2, late); !slices.Equal(got, []string{"dead n2[n1]"}) {
		t.Errorf("a late suspicion: %q", got)
	}
	again := []state.Event{of("n1", state.MemberReturned, 60, 57), of("n1", state.MemberSilent, 65, 62)}
	if got := told(n2, again); !slices.Equal(got, []string{"suspected n1[]", "returned n1[]", "dead n2[]"}) {
		t.Errorf("another silence: %q", got)
	}
	heard := []state.Event{of("n1", state.MemberSilent, 63, 60)} // it heard it after n2 had given it up
	if got := told(n2, heard); !slices.Equal(got, []string{"suspected n1[]", "dead n2[]"}) {
		t.Errorf("a silence to one alone: %q", got)
	}
}

// What is taken over in two outages, one soon after the other, is told of each, in stories and in folded lists alike;
// also what is taken over when the member is back.
func TestStories_takeovers(t *testing.T) {
	id := 0
	of := func(kind state.EventKind, s float64) state.Event {
		id++
		return state.Event{ID: fmt.Sprint("n2/a/", id), Node: "n2", At: at(s), Kind: kind, Member: "n3"}
	}
	taken := func(n int, to string, s, step float64) (list []state.Event) {
		for i := range n {
			id++
			list = append(list, state.Event{ID: fmt.Sprint(to, "/b/", id), Node: to, At: at(s + float64(i)*step),
				Kind: state.JobTaken, From: "n3", To: to, Job: fmt.Sprint("replication ", i), Text: "one"})
		}
		return list
	}
	silent, dead := of(state.MemberSilent, 15), of(state.MemberDead, 17)
	silent.Since, dead.Since = since(13), since(13)
	lists := [][]state.Event{
		{of(state.MemberLeft, 1), of(state.MemberReturned, 4), silent, dead, of(state.MemberReturned, 20)},
		taken(180, "n2", 0.2, 0.01), taken(23, "n1", 0.3, 0.01), // it leaves
		taken(5, "n2", 10, 0.1),  // long after it is back
		taken(13, "n2", 14, 0.1), // it is killed
		taken(2, "n1", 16, 0.1), taken(7, "n1", 27, 0.1),
	}
	merged := events.Merge(lists...)
	var got []string
	for _, s := range events.Stories(merged) {
		got = append(got, s.Text)
	}
	want := []string{
		"n3 silent 12:00:13.0, 11 jobs resumed 12:00:14.0, given up 12:00:17.0, back 12:00:20.0, " +
			"all 22 resumed by 12:00:27.6",
		"n3: 124 jobs resumed 12:00:00.2, left 12:00:01.0, back 12:00:04.0, all 208 resumed by 12:00:10.4"}
	if !slices.Equal(got, want) {
		t.Errorf("stories %q\nwant %q", got, want)
	}
	got = nil
	for _, e := range events.Fold(merged) {
		if e.Kind == state.JobTaken {
			got = append(got, e.Text)
		}
	}
	want = []string{"22 jobs were taken over from n3 by n1 and n2", "208 jobs were taken over from n3 by n1 and n2"}
	if !slices.Equal(got, want) {
		t.Errorf("folded %q", got)
	}
	got = nil
	for _, l := range events.Stories(merged)[0].Lines {
		until := ""
		if l.Until != nil {
			until = l.Until.Format("-05.0")
		}
		got = append(got, fmt.Sprintf("%s%s %s %d", l.At.Format("05.0"), until, l.Text, len(l.Jobs)))
	}
	want = []string{"13.0 n3 was last heard 0",
		"14.0-15.2 13 jobs go on at n2 11", "15.0 n3 has not answered for 2.0 s 0",
		"16.0-27.6 9 jobs go on at n1 9", "17.0 n3 has not answered for 4.0 s and was given up 0",
		"20.0 n3 is back, gone for 3.0 s 0"}
	if !slices.Equal(got, want) {
		t.Errorf("lines %q\nwant %q", got, want)
	}
}

// A disk that all nodes use is told once, and so is a node with another secret that calls all of them. What is wrong
// with a node is told of each.
func TestMerge_once(t *testing.T) {
	of := func(node string, s float64, kind state.EventKind, object, address string) state.Event {
		return state.Event{ID: fmt.Sprintf("%s/a/%v%s", node, s, kind), Node: node, At: at(s), Kind: kind,
			Object: object, Address: address}
	}
	var lists [][]state.Event
	for i, node := range []string{"n1", "n2", "n3"} {
		s := float64(20 * i)
		stranger := of(node, s+3, state.WrongSecret, "", "10.0.0.9")
		stranger.Repeated, stranger.Until = i, since(s+4)
		lists = append(lists, []state.Event{of(node, s, state.DiskLow, "disk_full", ""),
			of(node, s+1, state.Degraded, "memory_short", ""), stranger,
			of(node, s+200, state.Recovered, "disk_full", ""),
			of(node, s+300, state.DiskLow, "disk_full", "")})
	}
	lists[2] = append(lists[2], of("n3", 50, state.WrongSecret, "", "10.0.0.10"),
		of("n3", 500, state.NameClash, "", "10.0.0.7:1"))
	lists[1] = append(lists[1], of("n2", 501, state.NameClash, "", "10.0.0.7:1"),
		of("n2", 502, state.NameClash, "", "10.0.0.8:1"))
	var got []string
	for _, e := range events.Merge(lists...) {
		got = append(got, fmt.Sprint(e.Kind, e.Object, e.Address, " ", e.Node, e.Also, e.Repeated))
		if e.Repeated > 0 && !e.Until.Equal(at(44)) {
			t.Errorf("until %v", e.Until)
		}
	}
	want := []string{"name_clash10.0.0.8:1 n2[] 0", "name_clash10.0.0.7:1 n3[n2] 0",
		"disk_lowdisk_full n1[n2 n3] 0", "recovereddisk_full n1[n2 n3] 0", "wrong_secret10.0.0.10 n3[] 0",
		"degradedmemory_short n3[] 0", "degradedmemory_short n2[] 0", "wrong_secret10.0.0.9 n1[n2 n3] 3",
		"degradedmemory_short n1[] 0", "disk_lowdisk_full n1[n2 n3] 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

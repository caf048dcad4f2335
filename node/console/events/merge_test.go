package events_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

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

// A node that was started when a member was dead already has never heard it. The others know since when it is silent,
// whoever tells first, and it was gone since then when it is back.
func TestMerge_neverHeard(t *testing.T) {
	of := func(node string, kind state.EventKind, s float64, from *time.Time) state.Event {
		return state.Event{ID: fmt.Sprint(node, "/a/", s), Node: node, At: at(s), Since: from, Kind: kind, Member: "n5"}
	}
	for _, c := range []struct {
		name  string
		lists [][]state.Event
		want  []string // the events, and the story
	}{
		{"it tells first", [][]state.Event{
			{of("n4", state.MemberDead, 4.9, nil), of("n4", state.MemberReturned, 9, since(4.9))},
			{of("n3", state.MemberSilent, 3, since(1)), of("n3", state.MemberDead, 5, since(1)),
				of("n3", state.MemberReturned, 9.1, since(1))},
		}, []string{"n5 is back, gone for 8.0 s", "n5 has not answered for 3.9 s and was given up",
			"n5 has not answered for 2.0 s", "n5 silent 12:00:01.0, given up 12:00:04.9, back 12:00:09.0"}},
		{"it tells last", [][]state.Event{
			{of("n4", state.MemberDead, 5.1, nil)}, {of("n3", state.MemberDead, 5, since(1))},
		}, []string{"n5 has not answered for 4.0 s and was given up", "n5 silent 12:00:01.0, given up 12:00:05.0"}},
		{"it tells first, and no other one suspects", [][]state.Event{
			{of("n4", state.MemberDead, 4, nil)}, {of("n3", state.MemberDead, 5, since(1))},
		}, []string{"n5 has not answered for 3.0 s and was given up", "n5 silent 12:00:01.0, given up 12:00:04.0"}},
		{"nobody else is left", [][]state.Event{{of("n4", state.MemberDead, 5, nil)}},
			[]string{"n5 does not answer and was given up", "n5 given up 12:00:05.0"}},
		{"another version does not say it", [][]state.Event{{of("n4", state.MemberSilent, 5, nil)}},
			[]string{"n5 does not answer", "n5 silent 12:00:05.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, list := range c.lists {
				r := events.New(list[0].Node, slog.New(slog.DiscardHandler))
				for i := range list {
					r.Record(list[i])
					list[i].Text = r.List(list[i].At, 1)[0].Text
				}
			}
			var got []string
			merged := events.Merge(c.lists...)
			for _, e := range merged {
				got = append(got, e.Text)
			}
			for _, s := range events.Stories(merged) {
				got = append(got, s.Text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
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

// A node without the store may hear that its disk is full when the node with it tells that it is low. That node tells
// both if it is low first.
func TestMerge_disk(t *testing.T) {
	of := func(node, reason string, s float64) state.Event {
		id := fmt.Sprintf("%s/a/%v", node, s)
		return state.Event{ID: id, Node: node, At: at(s), Kind: state.DiskLow, Object: reason}
	}
	low := func(node string, s float64) state.Event { return of(node, "disk_low", s) }
	full := func(node string, s float64) state.Event { return of(node, "disk_full", s) }
	for want, lists := range map[string][][]state.Event{
		"[disk_low n6 [n7]]":                  {{low("n6", 0)}, {full("n7", 3)}},
		"[disk_full n6 [n7] disk_low n6 []]":  {{low("n6", 0), full("n6", 2)}, {full("n7", 3)}},
		"[disk_full n7 [n6] disk_low n6 []]":  {{low("n6", 0), full("n6", 99)}, {full("n7", 60)}},
		"[disk_full n7 [] disk_full n6 [n7]]": {{full("n6", 0)}, {full("n7", 1), full("n7", 30)}},
	} {
		var got []string
		for _, e := range events.Merge(lists...) {
			got = append(got, fmt.Sprint(e.Object, " ", e.Node, " ", e.Also))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

package events_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// What a node takes over from another one is one line of its log, however many jobs there are.
func TestTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		taking := events.NewTakeovers(slog.New(slog.NewTextHandler(&log, nil)))
		for range 150 {
			taking.Add("n2")
			time.Sleep(20 * time.Millisecond)
		}
		taking.Add("n3")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		text := log.String()
		if strings.Count(text, "\n") != 2 || !strings.Contains(text, "event=job_taken from_node=n2 count=150 seconds=2.98") ||
			!strings.Contains(text, "from_node=n3 count=1 seconds=0") {
			t.Errorf("logged:\n%s", text)
		}
		taking.Add("n2") // another time
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if text := log.String()[len(text):]; !strings.Contains(text, "from_node=n2 count=1") {
			t.Errorf("then logged:\n%s", text)
		}
	})
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
		"20.0 n3 is back, gone for 7.0 s 0"}
	if !slices.Equal(got, want) {
		t.Errorf("lines %q\nwant %q", got, want)
	}
}

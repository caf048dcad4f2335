package events_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// Jobs that are taken over from a node at about the same time are shown as one event, whatever else happens between
// them; those from another node, or much later, are not.
func TestFold(t *testing.T) {
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var n1, n3 []state.Event
	taken := func(list *[]state.Event, to, from string, i int, after time.Duration) {
		*list = append(*list, state.Event{ID: fmt.Sprintf("%s/a/%d", to, i), Node: to, Kind: state.JobTaken, To: to,
			From: from, Job: fmt.Sprint("replication r/", i), Token: int64(i), At: begun.Add(after), Severity: state.Info,
			Text: "one"})
	}
	taken(&n1, "n1", "n2", 1, 0)
	for i := 2; i <= 81; i++ {
		if i%2 == 0 {
			taken(&n1, "n1", "n2", i, time.Duration(i)*100*time.Millisecond)
		} else {
			taken(&n3, "n3", "n2", i, time.Duration(i)*100*time.Millisecond)
		}
	}
	n1 = append(n1, state.Event{ID: "n1/a/90", Node: "n1", Kind: state.Resharded, At: begun.Add(2 * time.Second)})
	taken(&n1, "n1", "n4", 91, 3*time.Second)
	taken(&n1, "n1", "n2", 92, time.Minute)
	merged := events.Merge(n1, n3)
	before := slices.Clone(merged)
	var got []string
	for _, e := range events.Fold(merged) {
		got = append(got, fmt.Sprintf("%s %s %d %s", e.ID, e.Kind, e.Count, e.Text))
		if e.Count != 81 {
			continue
		}
		lines := strings.Split(e.Detail, "\n")
		if len(lines) != 81 || lines[80] != "replication r/1 on n1, token 1" || !e.Since.Equal(begun) ||
			!e.At.Equal(begun.Add(8100*time.Millisecond)) || e.Node != "n3" || !slices.Equal(e.Also, []string{"n1"}) ||
			e.From != "n2" || e.Severity != state.Info {
			t.Errorf("folded: %+v", e)
		}
	}
	want := []string{"n1/a/92 job_taken 0 one", "n1/a/1 job_taken 81 81 jobs were taken over from n2 by n1 and n3",
		"n1/a/91 job_taken 0 one", "n1/a/90 resharded 0 "}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	for i := range before {
		if before[i].ID != merged[i].ID || before[i].Detail != merged[i].Detail || before[i].Text != merged[i].Text {
			t.Fatalf("event %d was changed: %+v", i, merged[i])
		}
	}
	many := merged[:0:0]
	for i := range 500 {
		taken(&many, "n1", "n2", 1000-i, 0)
	}
	one := events.Fold(many)
	if len(one) != 1 || one[0].Count != 500 || len(one[0].Detail) > 4200 ||
		!strings.Contains(one[0].Detail, "\nand ") || !strings.HasSuffix(one[0].Detail, " more") {
		t.Errorf("%d events, %+v", len(one), one[0])
	}
}

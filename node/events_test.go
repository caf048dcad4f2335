package node

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/query"
	"github.com/divandb/divan/query/sqlstate"
)

// A statement that the store has not answered belongs to the outage: it is not told as a slow one.
func TestReporter_statementInOutage(t *testing.T) {
	r := reporter{Recorder: events.New("n1", slog.New(slog.DiscardHandler))}
	r.statementEnded(query.Ended{User: "anna", Statement: "SELECT 1", Took: 10 * time.Second,
		Failed: sqlstate.New(sqlstate.CannotConnectNow, "the store does not answer")})
	if list := r.List(time.Time{}, 10); len(list) > 0 {
		t.Errorf("told %q", list[0].Text)
	}
}

// A slow statement is told however it ended, and how.
func TestReporter_statementEnded(t *testing.T) {
	failed := func(code sqlstate.Code, message string) *sqlstate.Error { return sqlstate.New(code, "%s", message) }
	const cancelled = sqlstate.QueryCanceled
	for want, s := range map[string]query.Ended{
		"took 4.8 s: it examined 30 and returned 7 rows": {Rows: 7, Examined: 30},
		"was cancelled after 4.8 s":                      {Failed: failed(cancelled, "due to user request")},
		"was ended by its timeout after 4.8 s":           {Failed: failed(cancelled, "due to statement timeout")},
		"was ended with its session after 4.8 s":         {Cut: true},
		"failed after 4.8 s":                             {Failed: failed(sqlstate.DivisionByZero, "no")},
	} {
		r := reporter{Recorder: events.New("n1", slog.New(slog.DiscardHandler))}
		s.User, s.Database, s.Statement = "anna", "orders", "SELECT 1"
		s.Took = 1900 * time.Millisecond
		r.statementEnded(s)
		s.Took = 4800 * time.Millisecond
		r.statementEnded(s)
		var got []string
		for _, e := range r.List(time.Time{}, 10) {
			got = append(got, e.Text)
		}
		if fmt.Sprint(got) != "[a statement of anna in orders "+want+"]" {
			t.Errorf("told %q, want %q", got, want)
		}
	}
}

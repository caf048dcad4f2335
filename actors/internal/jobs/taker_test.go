package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
)

func TestJobsBehavior(t *testing.T) {
	start := time.Unix(1000, 0)
	due := func(id string, in time.Duration) queueArmed {
		return queueArmed{next: &layer.DueJob{ID: id, At: start.Add(in)}}
	}
	type turn struct {
		at      time.Duration
		message any
		running int
		want    string
	}
	cases := []struct {
		name  string
		turns []turn
	}{
		{"jobs are taken one after the other, up to the limit", []turn{
			{0, runtime.Started{}, 0, "take check in 1s"},
			{0, Taken{Task: "a job"}, 0, "hand over, then look"},
			{0, queueChanged{}, 1, "take"},
			{0, Taken{Task: "a job"}, 1, "hand over, then look"},
			{0, queueChanged{}, 2, ""},
			{0, runtime.LookAgain{}, 2, ""},
			{0, runtime.LookAgain{}, 1, "take"},
		}},
		{"jobs that were claimed together are all handed over", []turn{
			{0, runtime.Started{}, 0, "take check in 1s"},
			{0, Taken{Task: "a job", More: []any{"another"}}, 0, "hand over, hand over, then look"},
			{0, queueChanged{}, 2, ""},
		}},
		{"leases are checked as long as none can be claimed", []turn{
			{0, runtime.Started{}, 2, "check in 1s"},
			{0, runtime.LookAgain{}, 2, ""},
			{time.Second, checkLeases{}, 2, "release"},
			{time.Second, silentReleased{start.Add(time.Second * 3 / 2)}, 2, "check in 500ms"},
			{2 * time.Second, checkLeases{}, 2, "release"},
			{2 * time.Second, silentReleased{}, 2, "check in 1s"},
			{3 * time.Second, runtime.LookAgain{}, 1, "take"},
			{3 * time.Second, checkLeases{}, 1, "release"}, // a job that is done before the next claim may take long
			{3 * time.Second, silentReleased{}, 1, "check in 1s"},
			{3 * time.Second, queueArmed{}, 1, "await"},
			{4 * time.Second, checkLeases{}, 1, ""},
			{4 * time.Second, queueChanged{}, 2, "check in 1s"},
		}},
		{"nothing is due: wait for the next job, or a change", []turn{
			{0, runtime.Started{}, 0, "take check in 1s"},
			{0, due("mine", time.Minute), 0, "await 1m0s"},
			{0, runtime.LookAgain{}, 0, ""},
			{time.Minute, queueChanged{}, 0, "take"},
			{time.Minute, queueArmed{}, 0, "await"},
		}},
		{"failures are retried after a pause, a void job is followed by the next immediately", []turn{
			{0, runtime.Started{}, 0, "take check in 1s"},
			{0, queueArmed{err: errors.New("no")}, 0, "pause"},
			{1, queueChanged{}, 0, "take"},
			{1, Taken{None: true}, 0, "pause"},
			{2, queueChanged{}, 0, "take"},
			{2, Taken{Err: errors.New("no")}, 0, "pause"},
			{3, queueChanged{}, 0, "take"},
			{3, Taken{}, 0, "take"},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			running := 0
			b := &jobsBehavior{
				running: func() int { return running },
				limit:   func() int { return 2 },
				every:   time.Second,
				backoff: runtime.NewBackoff(time.Millisecond, time.Second),
			}
			for i, turn := range tc.turns {
				running = turn.running
				effects := b.Step(start.Add(turn.at), turn.message)
				if got := renderJobs(effects, start); got != turn.want {
					t.Fatalf("turn %d, %+v: %q, want %q", i, turn.message, got, turn.want)
				}
			}
		})
	}
}

func renderJobs(effects []runtime.Effect, start time.Time) string {
	var list []string
	for _, e := range effects {
		switch e := e.(type) {
		case takeNext:
			list = append(list, "take")
		case handOver:
			list = append(list, "hand over,")
		case awaitQueue:
			if e.until.IsZero() {
				list = append(list, "await")
			} else {
				list = append(list, "await "+e.until.Sub(start).String())
			}
		case releaseSilent:
			list = append(list, "release")
		case runtime.After:
			if e.Message == (checkLeases{}) {
				list = append(list, "check in "+e.Delay.String())
			} else if e.Delay == 0 {
				list = append(list, "then look")
			} else {
				list = append(list, "pause")
			}
		default:
			list = append(list, fmt.Sprintf("%T", e))
		}
	}
	return strings.Join(list, " ")
}

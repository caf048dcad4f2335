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
			{0, runtime.Started{}, 0, "take"},
			{0, Taken{Task: "a job"}, 0, "hand over, then look"},
			{0, queueChanged{}, 1, "take"},
			{0, Taken{Task: "a job"}, 1, "hand over, then look"},
			{0, queueChanged{}, 2, ""},
			{0, runtime.LookAgain{}, 2, ""},
			{0, runtime.LookAgain{}, 1, "take"},
		}},
		{"nothing is due: wait for the next job, or a change", []turn{
			{0, runtime.Started{}, 0, "take"},
			{0, due("mine", time.Minute), 0, "await 1m0s"},
			{0, runtime.LookAgain{}, 0, ""},
			{time.Minute, queueChanged{}, 0, "take"},
			{time.Minute, queueArmed{}, 0, "await"},
		}},
		{"failures are retried after a pause, a void job is followed by the next immediately", []turn{
			{0, runtime.Started{}, 0, "take"},
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
		case runtime.After:
			if e.Delay == 0 {
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

package runtime

import (
	"fmt"
	"time"
)

const (
	// failingFrom is how many failures within FailureWindow make an actor count as failing.
	failingFrom = 3
	// stuckFrom is how long an actor may work on one message.
	stuckFrom = 10 * time.Second
)

// Degraded returns which actors fail repeatedly or are stuck: "actor_failing: ...". It does no I/O.
func (t *Tree) Degraded() (list []string) {
	now := t.Now()
	t.top.walk(func(r *Record) {
		switch n, reason := r.failures(now); {
		case n >= failingFrom:
			list = append(
				list,
				fmt.Sprintf("actor_failing: %s has failed %d times within a minute (%s) and was restarted "+
					"each time, so its work is delayed. The log has the stack under \"actor failed\": "+
					"please report it.",
					r.ID, n, reason),
			)
		case r.busy(now) > stuckFrom:
			list = append(
				list,
				fmt.Sprintf("actor_failing: %s has been busy with one message for %v, so its work is "+
					"delayed. Restart the node if this persists, and please report it.", r.ID,
					r.busy(now).Truncate(time.Second)),
			)
		}
	})
	return list
}

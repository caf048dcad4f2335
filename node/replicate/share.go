package replicate

import (
	"maps"
	"time"
)

// share is what a node knows of which replications are its own. Manager.mu guards it.
type share struct {
	owns func(job string) bool // set by Manager.Attach
	// left are the jobs that this node has left to their owners lately, and when.
	left map[string]time.Time
}

// keepLeft is for how long a job that its owner has not taken is not left to it again.
const keepLeft = 10 * time.Minute

// leaveAfter is how long this node runs a job before it leaves it: longer than the members wait until they give one up.
// A job that was taken over from a node that is dead would otherwise be left to that node, which no one takes it from.
const leaveAfter = 5 * time.Second

// leave ends up to n runs of continuous replications that belong on other nodes, which then continue them: after a node
// has died or was stopped, others have its replications. An owner that does not take its job, since it may run no more
// of them, is not waited for: this node gets the job back.
func (s *share) leave(running map[string]*run, n int) {
	now := time.Now()
	maps.DeleteFunc(s.left, func(job string, at time.Time) bool {
		r := running[job]
		return now.Sub(at) > keepLeft || r != nil && r.elsewhere && r.began.After(at)
	})
	for job, r := range running {
		_, back := s.left[job]
		switch {
		case n <= 0:
			return
		case r.copying && !r.yields && !back && r.continuous && now.Sub(r.began) > leaveAfter && !s.owns(job):
			s.left[job] = now
			r.end()
			n--
		}
	}
}

package actors

import (
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// jobsBehavior claims jobs of a type from the queue, as many as this node works on at once, and hands them to the
// actors of their databases. It takes what is due, then waits until something is announced or the next one is due.
// While jobs run it looks at their heartbeats some times per lease; one whose worker has fallen silent is due.
type jobsBehavior struct {
	running func() int // tasks of this node
	limit   int
	backoff backoff

	phase jobsPhase
	facts JobsFacts
}

type jobsPhase string

const (
	jobsLooking  jobsPhase = "looking"     // arming a watch on the queue
	jobsClaiming jobsPhase = "claiming"    // something is due
	jobsWaiting  jobsPhase = "waiting"     // nothing is due for this node
	jobsFull     jobsPhase = "full"        // this node has as many as it may
	jobsRetrying jobsPhase = "backing off" // the store failed, or another node was faster
)

// JobsFacts are the figures of the jobs actor.
type JobsFacts struct {
	Running int    `json:"running"`
	Claimed int64  `json:"claimed"`
	Error   string `json:"error,omitempty"`
}

// Messages of the jobs actor.
type (
	queueArmed struct {
		watch kv.Watch
		next  *layer.DueJob // nil: none
		err   error
	}
	queueChanged struct{}
	claimed      struct {
		task any  // to hand over; nil where there was no job, or its claim has done it
		none bool // there was no job
		err  error
	}
)

// Effects of the jobs actor.
type (
	watchQueue struct{}
	awaitQueue struct {
		watch kv.Watch
		until time.Time // zero: for ever
	}
	dropQueue struct{ watch kv.Watch }
	claimJob  struct{}
	handOver  struct{ task any }
)

func (b *jobsBehavior) Step(now time.Time, message any) []effect {
	switch m := message.(type) {
	case started, queueChanged:
		return b.look()
	case lookAgain:
		if b.phase == jobsFull {
			return b.look()
		}
	case queueArmed:
		return b.armed(now, m)
	case claimed:
		return b.claimed(m)
	}
	return nil
}

func (b *jobsBehavior) look() []effect {
	if b.running() >= b.limit {
		b.phase = jobsFull
		return nil
	}
	b.phase = jobsLooking
	return []effect{watchQueue{}}
}

func (b *jobsBehavior) armed(now time.Time, m queueArmed) []effect {
	if m.err != nil {
		return b.retry(m.err)
	}
	b.facts.Error = ""
	due := time.Time{}
	if m.next != nil {
		if due = m.next.At; !due.After(now) {
			b.phase = jobsClaiming
			return []effect{dropQueue{m.watch}, claimJob{}}
		}
	}
	b.backoff.reset()
	b.phase = jobsWaiting
	return []effect{awaitQueue{m.watch, due}}
}

func (b *jobsBehavior) claimed(m claimed) []effect {
	if m.err != nil || m.none {
		return b.retry(m.err)
	}
	if m.task == nil {
		return b.look()
	}
	b.facts.Claimed++
	// Handed over first, so that the task counts when this node looks whether it may have another.
	return []effect{handOver{m.task}, after{delay: 0, message: queueChanged{}}}
}

func (b *jobsBehavior) retry(err error) []effect {
	b.phase = jobsRetrying
	if err != nil {
		b.facts.Error = err.Error()
	}
	return []effect{after{delay: b.backoff.next(), message: queueChanged{}}}
}

func (b *jobsBehavior) Status() (string, any) {
	b.facts.Running = b.running()
	return string(b.phase), b.facts
}

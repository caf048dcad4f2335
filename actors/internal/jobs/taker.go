package jobs

import (
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// jobsBehavior claims jobs of a type from the queue, as many as this node works on at once, and hands them to the
// actors of their databases. It takes what is due, then waits until something is announced or the next one is due.
// While jobs run it looks at their heartbeats some times per lease; one whose worker has fallen silent is due.
type jobsBehavior struct {
	running func() int // tasks of this node
	limit   int
	backoff runtime.Backoff

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
	Claimed      struct {
		Task any  // to hand over; nil where there was no job, or its claim has done it
		None bool // there was no job
		Err  error
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

func (b *jobsBehavior) Step(now time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started, queueChanged:
		return b.look()
	case runtime.LookAgain:
		if b.phase == jobsFull {
			return b.look()
		}
	case queueArmed:
		return b.armed(now, m)
	case Claimed:
		return b.claimed(m)
	}
	return nil
}

func (b *jobsBehavior) look() []runtime.Effect {
	if b.running() >= b.limit {
		b.phase = jobsFull
		return nil
	}
	b.phase = jobsLooking
	return []runtime.Effect{watchQueue{}}
}

func (b *jobsBehavior) armed(now time.Time, m queueArmed) []runtime.Effect {
	if m.err != nil {
		return b.retry(m.err)
	}
	b.facts.Error = ""
	due := time.Time{}
	if m.next != nil {
		if due = m.next.At; !due.After(now) {
			b.phase = jobsClaiming
			return []runtime.Effect{dropQueue{m.watch}, claimJob{}}
		}
	}
	b.backoff.Reset()
	b.phase = jobsWaiting
	return []runtime.Effect{awaitQueue{m.watch, due}}
}

func (b *jobsBehavior) claimed(m Claimed) []runtime.Effect {
	if m.Err != nil || m.None {
		return b.retry(m.Err)
	}
	if m.Task == nil {
		return b.look()
	}
	b.facts.Claimed++
	// Handed over first, so that the task counts when this node looks whether it may have another.
	return []runtime.Effect{handOver{m.Task}, runtime.After{Delay: 0, Message: queueChanged{}}}
}

func (b *jobsBehavior) retry(err error) []runtime.Effect {
	b.phase = jobsRetrying
	if err != nil {
		b.facts.Error = err.Error()
	}
	return []runtime.Effect{runtime.After{Delay: b.backoff.Next(), Message: queueChanged{}}}
}

func (b *jobsBehavior) Status() (string, any) {
	b.facts.Running = b.running()
	return string(b.phase), b.facts
}

package jobs

import (
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// jobsBehavior claims jobs of a type from the queue, up to this node's limit, and hands them to the actors of their
// databases. It claims what is due, then waits until a job is announced or the next one is due. While jobs run, it
// checks their leases several times per lease. A job whose worker has been silent too long is due. As long as this node
// has too much to do to claim such a job, it lets the job wait in the queue, so that other nodes hear of it, and nobody
// takes the worker for one that works.
type jobsBehavior struct {
	running func() int // returns the number of this node's tasks
	limit   func() int
	every   time.Duration // interval of checks while it does not claim
	backoff runtime.Backoff

	phase   jobsPhase
	checked bool // a checkLeases is under way, or its answer
	facts   JobsFacts
}

type jobsPhase string

const (
	jobsTaking   jobsPhase = "taking"      // claiming a job, or arming a watch on the queue
	jobsWaiting  jobsPhase = "waiting"     // no job is due for this node
	jobsFull     jobsPhase = "full"        // this node has as many jobs as it may
	jobsRetrying jobsPhase = "backing off" // the store failed, or the node takes no more jobs
)

// JobsFacts describe the state of the jobs actor.
type JobsFacts struct {
	Running int    `json:"running"`
	Claimed int64  `json:"claimed"`
	Error   string `json:"error,omitempty"`
}

// Messages of the jobs actor.
type (
	// queueArmed says that no job is due.
	queueArmed struct {
		watch kv.Watch
		next  *layer.DueJob // nil: none
		err   error
	}
	queueChanged struct{}
	checkLeases  struct{}
	// silentReleased is the outcome of releaseSilent.
	silentReleased struct{ next time.Time } // when to check again, if known
	// Taken is the outcome of a claimed job.
	Taken struct {
		Task any   // to hand over; nil if the job is done
		More []any // further tasks of jobs that were claimed with it
		None bool  // no job was claimed, because the node takes no more
		Err  error
	}
)

// Effects of the jobs actor.
type (
	takeNext      struct{}
	releaseSilent struct{}
	awaitQueue    struct {
		watch kv.Watch
		until time.Time // zero: forever
	}
	handOver struct{ task any }
)

func (b *jobsBehavior) Step(now time.Time, message any) []runtime.Effect {
	switch m := message.(type) {
	case runtime.Started, queueChanged:
		return b.look()
	case runtime.LookAgain:
		if b.phase == jobsFull {
			return b.look()
		}
	case checkLeases:
		if b.checked = b.busy(); b.checked {
			return []runtime.Effect{releaseSilent{}}
		}
	case silentReleased:
		if b.checked = b.busy(); b.checked {
			return []runtime.Effect{runtime.After{Delay: b.pause(now, m.next), Message: checkLeases{}}}
		}
	case queueArmed:
		return b.armed(m)
	case Taken:
		return b.taken(m)
	}
	return nil
}

func (b *jobsBehavior) look() []runtime.Effect {
	var e []runtime.Effect
	if b.phase = jobsFull; b.running() < b.limit() {
		b.phase = jobsTaking
		e = append(e, takeNext{})
	}
	if !b.checked {
		b.checked = true
		e = append(e, runtime.After{Delay: b.every, Message: checkLeases{}})
	}
	return e
}

// busy reports whether it does not claim now: because it may not, or because it does a job before it claims the next.
func (b *jobsBehavior) busy() bool { return b.phase == jobsFull || b.phase == jobsTaking }

// pause returns for how long to wait before leases are checked again.
func (b *jobsBehavior) pause(now, next time.Time) time.Duration {
	if next.IsZero() {
		return b.every
	}
	return min(b.every, max(next.Sub(now), b.every/8))
}

func (b *jobsBehavior) armed(m queueArmed) []runtime.Effect {
	if m.err != nil {
		return b.retry(m.err)
	}
	b.facts.Error = ""
	due := time.Time{}
	if m.next != nil {
		due = m.next.At
	}
	b.backoff.Reset()
	b.phase = jobsWaiting
	return []runtime.Effect{awaitQueue{m.watch, due}}
}

func (b *jobsBehavior) taken(m Taken) []runtime.Effect {
	if m.Err != nil || m.None {
		return b.retry(m.Err)
	}
	b.facts.Error = ""
	if m.Task == nil {
		return b.look()
	}
	// Hand them over first, so that the tasks count when this node checks whether it may take another.
	effects := []runtime.Effect{handOver{m.Task}}
	for _, task := range m.More {
		effects = append(effects, handOver{task})
	}
	b.facts.Claimed += int64(len(effects))
	return append(effects, runtime.After{Delay: 0, Message: queueChanged{}})
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

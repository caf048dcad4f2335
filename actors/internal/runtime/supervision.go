package runtime

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// failure is the panic value that the shell passes to the supervisor.
type failure struct {
	rec    *Record
	reason string
	notify func(reason string)

	exhausted func()
}

func (f failure) String() string { return f.reason }

// restartBudget is how often an actor may fail within FailureWindow before others should do its work.
const restartBudget = 5

// supervision restarts only the failed child, immediately or after a pause (Record.failed). Its messages wait
// meanwhile.
type supervision struct{ tree *Tree }

var _ actor.SupervisorStrategy = (*supervision)(nil)

// HandleFailure is called by the parent's goroutine, or by protoactor's guardian for the root.
func (v *supervision) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID,
	_ *actor.RestartStatistics, reason, _ any) {
	t := v.tree
	if !t.working.enter() {
		return
	}
	defer t.working.leave()
	f, ok := reason.(failure)
	if !ok {
		// A panic outside the shell, in protoactor itself.
		t.Log.Error("actor failed outside its logic", "actor", child.GetId(), "error", reason)
		parent.RestartChildren(child)
		return
	}
	pause := f.rec.failed(t.Now(), f.reason)
	t.kinds.restarted(f.rec.kind)
	if f.notify != nil {
		f.notify(f.reason)
	}
	if recent, _ := f.rec.failures(t.Now()); f.exhausted != nil && recent > restartBudget {
		f.exhausted()
	}
	if pause == 0 {
		parent.RestartChildren(child)
		return
	}
	t.Run(func() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-t.Running.Done():
			// The tree is being stopped, which also stops a suspended actor.
		case <-timer.C:
			parent.RestartChildren(child)
		}
	})
}

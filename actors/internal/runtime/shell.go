package runtime

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Behavior is an actor's logic: a state machine that takes one message at a time and answers what is to be done. It
// starts no goroutine, does no I/O and reads no clock, so that a test or a simulation can drive it without protoactor.
// A new one is made for every (re)start.
type Behavior interface {
	// Step takes a message. The first one is always started.
	Step(now time.Time, message any) []Effect
	// Status is what the supervision tree shows: a word, and the actor's figures.
	Status() (state string, facts any)
}

// Effect is something that a behavior wants done: one of those below, or a kind's own, which its spec performs.
type Effect any

// Messages that every behavior may get.
type (
	// Started is the first message of each life.
	Started struct{}
	// LookAgain says that what the actor goes by, which is kept elsewhere, may have changed.
	LookAgain struct{}
	// ChildGone says that a child has stopped, by itself or because it was told to.
	ChildGone struct{ Key string }
)

// Effects that the shell performs itself.
type (
	// After sends a message to the actor itself, later.
	After struct {
		Delay   time.Duration
		Message any
	}
	// Spawn starts a child; its key must not be in use.
	Spawn struct {
		Key  string
		Spec Spec
	}
	// Tell sends a message to a child, if it is there.
	Tell struct {
		Key     string
		Message any
	}
	// stopChild stops a child; childGone follows.
	stopChild struct{ key string }
	// StopSelf ends the actor.
	StopSelf struct{}
)

// Spec is how an actor is made.
type Spec struct {
	Kind, Name string
	// Make makes the behavior of a new life.
	Make func() Behavior
	// Perform does the effects of the kind. It runs on the actor's goroutine and must not block: it uses Shell.Do for
	// I/O. nil where the kind has none.
	Perform func(s *Shell, e Effect)
	// Failed, where not nil, is told about each failure.
	Failed func(reason string)
	// Ended, where not nil, is told that the actor has failed or stopped, by its own goroutine: what it has promised
	// does not hold any more.
	Ended func()
	// Live, where not nil, brings the behavior's facts up to the moment when somebody looks; from any goroutine.
	Live func(facts any) any
}

// Shell runs a behavior as a protoactor actor.
type Shell struct {
	tree *Tree
	spec Spec
	rec  *Record

	life     context.Context // of this incarnation: ends when it stops or restarts
	end      context.CancelFunc
	b        Behavior
	self     *actor.PID
	children map[string]*actor.PID // by key
	keys     map[string]string     // by the child's id, of children
	context  actor.Context         // of the message being received
}

// fromLife is a message that the actor's own I/O or timer sent: it is dropped when the actor has been restarted since.
type fromLife struct {
	life    context.Context
	message any
}

// props makes an actor of the spec under a parent record. The record is attached when the actor is spawned and detached
// when it has stopped.
func (t *Tree) props(parent *Record, sp Spec) *actor.Props {
	rec := newRecord(parent, sp.Kind, sp.Name, t.Now())
	rec.live = sp.Live
	t.kinds.spawned(sp.Kind)
	return actor.PropsFromProducer(func() actor.Actor {
		return &Shell{tree: t, spec: sp, rec: rec, children: map[string]*actor.PID{}, keys: map[string]string{}}
	},
		actor.WithMailbox(func() actor.Mailbox {
			m := actor.Unbounded()()
			rec.mailbox = m
			rec.attach() // before the actor runs, and not before the mailbox is set
			return m
		}),
		actor.WithSupervisor(&supervision{t}))
}

// Receive is called by protoactor, one message at a time.
func (s *Shell) Receive(c actor.Context) {
	begin := s.tree.Now()
	s.rec.begin(begin)
	s.context = c
	defer func() {
		s.context = nil
		s.rec.end()
		s.tree.kinds.received(s.spec.Kind, s.tree.Now().Sub(begin))
		if p := recover(); p != nil {
			s.fail(c, recovered(p))
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.self = c.Self()
		s.life, s.end = context.WithCancel(s.tree.Running)
		s.b = s.spec.Make()
		s.step(Started{})
	case *actor.Restarting:
		s.end()
	case *actor.Stopping:
		s.rec.set(stateStopping, nil)
		if s.end != nil {
			s.end()
		}
	case *actor.Stopped:
		if s.spec.Ended != nil {
			s.spec.Ended()
		}
		s.rec.detach()
		s.tree.kinds.stopped(s.spec.Kind)
	case *actor.Terminated:
		if key, ok := s.keys[m.Who.GetId()]; ok {
			delete(s.keys, m.Who.GetId())
			delete(s.children, key)
			s.step(ChildGone{Key: key})
		}
	case fromLife:
		if m.life == s.life {
			if c, ok := m.message.(crash); ok {
				panic(c)
			}
			s.step(m.message)
		}
	case actor.SystemMessage, actor.AutoReceiveMessage:
	default:
		s.step(m)
	}
}

func (s *Shell) step(message any) {
	if s.life == nil || s.life.Err() != nil {
		return // stopping
	}
	inject(s.spec.Kind)
	effects := s.b.Step(s.tree.Now(), message)
	state, facts := s.b.Status()
	s.rec.set(state, facts)
	for _, e := range effects {
		s.apply(e)
	}
}

func (s *Shell) apply(e Effect) {
	switch e := e.(type) {
	case After:
		s.Do(func(ctx context.Context) any {
			t := time.NewTimer(e.Delay)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return nil
			case <-t.C:
				return e.Message
			}
		})
	case Spawn:
		s.spawn(e)
	case Tell:
		if pid := s.children[e.Key]; pid != nil {
			s.context.Send(pid, e.Message)
		}
	case stopChild:
		if pid := s.children[e.key]; pid != nil {
			s.context.Stop(pid)
		}
	case StopSelf:
		s.context.Stop(s.self)
	default:
		if s.spec.Perform == nil {
			panic(fmt.Sprintf("actor %s has no way to perform %T", s.rec.ID, e))
		}
		s.spec.Perform(s, e)
	}
}

func (s *Shell) spawn(e Spawn) {
	if s.children[e.Key] != nil {
		panic(fmt.Sprintf("actor %s has a child %q already", s.rec.ID, e.Key))
	}
	// protoactor frees a name only after the parent has heard that its bearer is gone, so the name is new each time.
	name := fmt.Sprintf("%s-%d", url.PathEscape(e.Spec.Kind+":"+e.Spec.Name), s.tree.serial.Add(1))
	pid, err := s.context.SpawnNamed(s.tree.props(s.rec, e.Spec), name)
	if err != nil {
		panic(fmt.Errorf("start actor %s under %s: %w", name, s.rec.ID, err))
	}
	s.children[e.Key], s.keys[pid.GetId()] = pid, e.Key
}

// Do runs f in a goroutine that the tree's end waits for, and sends its answer to the actor, unless it is nil or the
// actor's life has ended. A panic in f is the actor's panic.
func (s *Shell) Do(f func(ctx context.Context) any) {
	life, self := s.life, s.self
	s.tree.Run(func() {
		message := Guarded(life, f)
		if message != nil && life.Err() == nil {
			s.tree.proto.Root.Send(self, fromLife{life, message})
		}
	})
}

// Guarded runs f. A panic in f is returned as a crash.
func Guarded(ctx context.Context, f func(ctx context.Context) any) (message any) {
	defer func() {
		if p := recover(); p != nil {
			message = recovered(p)
		}
	}()
	return f(ctx)
}

// fail logs a panic where its stack is known and hands it to the supervisor. Who waits for an answer gets the error
// now.
func (s *Shell) fail(c actor.Context, p crash) {
	reason := fmt.Sprint(p.value)
	s.tree.Log.Error("actor failed", "actor", s.rec.ID, "error", reason, "stack", string(p.stack))
	if c.Sender() != nil {
		c.Respond(&FailureError{Actor: s.rec.ID, Reason: reason})
	}
	if s.end != nil {
		s.end()
	}
	if s.spec.Ended != nil {
		s.spec.Ended()
	}
	panic(failure{rec: s.rec, reason: reason, notify: s.spec.Failed})
}

// FailureError is what a requester gets from an actor that failed over its request.
type FailureError struct{ Actor, Reason string }

func (e *FailureError) Error() string { return "actor " + e.Actor + " failed: " + e.Reason }

// Busy is for how long the actor has been at work on one message.
func (s *Shell) Busy(now time.Time) time.Duration { return s.rec.busy(now) }

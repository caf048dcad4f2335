package runtime

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Behavior is an actor's logic: a state machine that takes one message at a time and returns what to do. It starts no
// goroutines, does no I/O and reads no clock, so that tests can drive it without protoactor. Every start and restart
// creates a new one.
type Behavior interface {
	// Step handles a message. The first message is always Started.
	Step(now time.Time, message any) []Effect
	// Status returns what the supervision tree shows: a word, and the actor's facts.
	Status() (state string, facts any)
}

// Effect is something that a behavior wants to be done: one of those below, or one of the actor's kind, which its Spec
// performs.
type Effect any

// Messages that any behavior may receive.
type (
	// Started is the first message of each life.
	Started struct{}
	// LookAgain means that state outside the actor, on which it depends, may have changed. A parent sends no second
	// one while one waits, however fast things change.
	LookAgain struct{}
	// ChildGone means that a child has stopped, by itself or because it was told to.
	ChildGone struct{ Key string }
)

// Effects that the shell performs itself.
type (
	// After sends a message to the actor itself after a delay.
	After struct {
		Delay   time.Duration
		Message any
	}
	// Spawn starts a child. Its key must not be in use.
	Spawn struct {
		Key  string
		Spec Spec
	}
	// Tell sends a message to a child, if it exists.
	Tell struct {
		Key     string
		Message any
	}
	// stopChild stops a child. ChildGone follows.
	stopChild struct{ key string }
	// StopSelf ends the actor.
	StopSelf struct{}
)

// Spec describes how to create an actor.
type Spec struct {
	Kind, Name string
	// Make returns the behavior for a new life.
	Make func() Behavior
	// Perform carries out the kind's own effects. It runs on the actor's goroutine and must not block: it uses Shell.Do
	// for I/O. It is nil if the kind has none.
	Perform func(s *Shell, e Effect)
	// Failed, if not nil, is called after each failure.
	Failed func(reason string)
	// Exhausted, if not nil, is called after each failure by which the actor exceeds its budget of restarts. The actor
	// is restarted even so, but others should do its work if they can. It must not block.
	Exhausted func()
	// Ended, if not nil, is called on the actor's goroutine when the actor has failed or stopped: its guarantees no
	// longer hold. The end of the tree does not call it.
	Ended func()
	// Live, if not nil, updates the behavior's facts to the current moment when they are read. It may be called from
	// any goroutine.
	Live func(facts any) any
}

// Shell runs a behavior as a protoactor actor.
type Shell struct {
	tree *Tree
	spec Spec
	rec  *Record

	life     context.Context // of this life: ends when the actor stops or restarts
	end      context.CancelFunc
	b        Behavior
	self     *actor.PID
	children map[string]*actor.PID // by key
	records  map[string]*Record    // of the children
	keys     map[string]string     // by the child's id, for children
	context  actor.Context         // of the current message
}

// fromLife is a message sent by the actor's own I/O or timer. It is dropped if the actor has been restarted since.
type fromLife struct {
	life    context.Context
	message any
}

// props returns the protoactor properties of an actor below a parent record. The record is attached when the actor is
// spawned and detached when it has stopped.
func (t *Tree) props(parent *Record, sp Spec) *actor.Props {
	return t.propsOf(newRecord(parent, sp.Kind, sp.Name, t.Now()), sp)
}

// propsOf is props with a new record.
func (t *Tree) propsOf(rec *Record, sp Spec) *actor.Props {
	rec.live = sp.Live
	t.kinds.spawned(sp.Kind)
	return actor.PropsFromProducer(func() actor.Actor {
		return &Shell{tree: t, spec: sp, rec: rec, children: map[string]*actor.PID{}, keys: map[string]string{},
			records: map[string]*Record{}}
	},
		actor.WithMailbox(func() actor.Mailbox {
			m := actor.Unbounded()()
			rec.mailbox = m
			rec.attach() // before the actor runs, and after the mailbox is set
			return m
		}),
		actor.WithSupervisor(&supervision{t}))
}

// Receive is called by protoactor, one message at a time.
func (s *Shell) Receive(c actor.Context) {
	if !s.tree.working.enter() {
		return
	}
	defer s.tree.working.leave()
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
		s.rec.process.Store(s.self)
		s.rec.lifeBegins(s.tree.Now())
		s.life, s.end = context.WithCancel(s.tree.Running)
		s.b = s.spec.Make()
		s.step(Started{})
	case *actor.Restarting:
		if s.life.Err() == nil { // restarted on request; after a failure, fail has done it
			s.rec.restarted()
			if s.spec.Ended != nil {
				s.spec.Ended()
			}
		}
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
			delete(s.records, key)
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
	case LookAgain:
		s.rec.looking.Store(false)
		s.step(m)
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
		pid := s.children[e.Key]
		if pid == nil {
			return
		}
		if _, look := e.Message.(LookAgain); look && !s.records[e.Key].looking.CompareAndSwap(false, true) {
			return
		}
		s.context.Send(pid, e.Message)
	case stopChild:
		if pid := s.children[e.key]; pid != nil {
			s.context.Stop(pid)
		}
	case StopSelf:
		s.context.Stop(s.self)
	default:
		if s.spec.Perform == nil {
			panic(fmt.Sprintf("actor %s cannot perform %T", s.rec.ID, e))
		}
		s.spec.Perform(s, e)
	}
}

func (s *Shell) spawn(e Spawn) {
	if s.children[e.Key] != nil {
		panic(fmt.Sprintf("actor %s already has a child %q", s.rec.ID, e.Key))
	}
	// protoactor frees a name only after the parent has been notified of the end of its owner, so names are never
	// reused.
	name := fmt.Sprintf("%s-%d", url.PathEscape(e.Spec.Kind+":"+e.Spec.Name), s.tree.serial.Add(1))
	rec := newRecord(s.rec, e.Spec.Kind, e.Spec.Name, s.tree.Now())
	pid, err := s.context.SpawnNamed(s.tree.propsOf(rec, e.Spec), name)
	if err != nil {
		panic(fmt.Errorf("start actor %s under %s: %w", name, s.rec.ID, err))
	}
	s.children[e.Key], s.keys[pid.GetId()], s.records[e.Key] = pid, e.Key, rec
}

// Do runs f in a goroutine that Tree.End waits for, and sends its result to the actor, unless the result is nil or the
// actor's life has ended. A panic in f is treated as a panic of the actor.
func (s *Shell) Do(f func(ctx context.Context) any) {
	life, self := s.life, s.self
	s.tree.Run(func() {
		message := Guarded(life, f)
		if message != nil && life.Err() == nil {
			s.tree.proto.Root.Send(self, fromLife{life, message})
		}
	})
}

// Guarded runs f, and returns a panic in f as a crash.
func Guarded(ctx context.Context, f func(ctx context.Context) any) (message any) {
	defer func() {
		if p := recover(); p != nil {
			message = recovered(p)
		}
	}()
	return f(ctx)
}

// fail logs a panic with its stack and passes it to the supervisor. A requester that waits for an answer gets an error
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
	s.tree.park(s.rec, c.Message(), reason)
	if s.tree.Failed != nil {
		s.tree.Failed(ActorFailure{Actor: s.rec.ID, Reason: reason, Stack: string(p.stack),
			Restarts: s.rec.restarts() + 1})
	}
	panic(failure{rec: s.rec, reason: reason, notify: s.spec.Failed, exhausted: s.spec.Exhausted})
}

// FailureError is what a requester receives if an actor fails while handling its request.
type FailureError struct{ Actor, Reason string }

func (e *FailureError) Error() string { return "actor " + e.Actor + " failed: " + e.Reason }

// Busy returns how long the actor has been working on its current message.
func (s *Shell) Busy(now time.Time) time.Duration { return s.rec.busy(now) }

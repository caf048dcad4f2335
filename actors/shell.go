package actors

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// behavior is an actor's logic: a state machine that takes one message at a time and answers what is to be done. It
// starts no goroutine, does no I/O and reads no clock, so that a test or a simulation can drive it without protoactor.
// A new one is made for every (re)start.
type behavior interface {
	// Step takes a message. The first one is always started.
	Step(now time.Time, message any) []effect
	// Status is what the supervision tree shows: a word, and the actor's figures.
	Status() (state string, facts any)
}

// effect is something that a behavior wants done: one of those below, or a kind's own, which its spec performs.
type effect any

// Messages that every behavior may get.
type (
	// started is the first message of each life.
	started struct{}
	// lookAgain says that what the actor goes by, which is kept elsewhere, may have changed.
	lookAgain struct{}
	// childGone says that a child has stopped, by itself or because it was told to.
	childGone struct{ key string }
)

// Effects that the shell performs itself.
type (
	// after sends a message to the actor itself, later.
	after struct {
		delay   time.Duration
		message any
	}
	// spawn starts a child; its key must not be in use.
	spawn struct {
		key  string
		spec spec
	}
	// tell sends a message to a child, if it is there.
	tell struct {
		key     string
		message any
	}
	// stopChild stops a child; childGone follows.
	stopChild struct{ key string }
	// stopSelf ends the actor.
	stopSelf struct{}
)

// spec is how an actor is made.
type spec struct {
	kind, name string
	// make makes the behavior of a new life.
	make func() behavior
	// perform does the effects of the kind. It runs on the actor's goroutine and must not block: it uses shell.do for
	// I/O. nil where the kind has none.
	perform func(s *shell, e effect)
	// failed, where not nil, is told about each failure.
	failed func(reason string)
	// ended, where not nil, is told that the actor has failed or stopped, by its own goroutine: what it has promised
	// does not hold any more.
	ended func()
	// live, where not nil, brings the behavior's facts up to the moment when somebody looks; from any goroutine.
	live func(facts any) any
}

// shell runs a behavior as a protoactor actor.
type shell struct {
	tree *tree
	spec spec
	rec  *record

	life     context.Context // of this incarnation: ends when it stops or restarts
	end      context.CancelFunc
	b        behavior
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
func (t *tree) props(parent *record, sp spec) *actor.Props {
	rec := newRecord(parent, sp.kind, sp.name, t.now())
	rec.live = sp.live
	t.kinds.spawned(sp.kind)
	return actor.PropsFromProducer(func() actor.Actor {
		return &shell{tree: t, spec: sp, rec: rec, children: map[string]*actor.PID{}, keys: map[string]string{}}
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
func (s *shell) Receive(c actor.Context) {
	begin := s.tree.now()
	s.rec.begin(begin)
	s.context = c
	defer func() {
		s.context = nil
		s.rec.end()
		s.tree.kinds.received(s.spec.kind, s.tree.now().Sub(begin))
		if p := recover(); p != nil {
			s.fail(c, recovered(p))
		}
	}()
	switch m := c.Message().(type) {
	case *actor.Started:
		s.self = c.Self()
		s.life, s.end = context.WithCancel(s.tree.running)
		s.b = s.spec.make()
		s.step(started{})
	case *actor.Restarting:
		s.end()
	case *actor.Stopping:
		s.rec.set(stateStopping, nil)
		if s.end != nil {
			s.end()
		}
	case *actor.Stopped:
		if s.spec.ended != nil {
			s.spec.ended()
		}
		s.rec.detach()
		s.tree.kinds.stopped(s.spec.kind)
	case *actor.Terminated:
		if key, ok := s.keys[m.Who.GetId()]; ok {
			delete(s.keys, m.Who.GetId())
			delete(s.children, key)
			s.step(childGone{key: key})
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

func (s *shell) step(message any) {
	if s.life == nil || s.life.Err() != nil {
		return // stopping
	}
	inject(s.spec.kind)
	effects := s.b.Step(s.tree.now(), message)
	state, facts := s.b.Status()
	s.rec.set(state, facts)
	for _, e := range effects {
		s.apply(e)
	}
}

func (s *shell) apply(e effect) {
	switch e := e.(type) {
	case after:
		s.do(func(ctx context.Context) any {
			t := time.NewTimer(e.delay)
			defer t.Stop()
			select {
			case <-ctx.Done():
				return nil
			case <-t.C:
				return e.message
			}
		})
	case spawn:
		s.spawn(e)
	case tell:
		if pid := s.children[e.key]; pid != nil {
			s.context.Send(pid, e.message)
		}
	case stopChild:
		if pid := s.children[e.key]; pid != nil {
			s.context.Stop(pid)
		}
	case stopSelf:
		s.context.Stop(s.self)
	default:
		if s.spec.perform == nil {
			panic(fmt.Sprintf("actor %s has no way to perform %T", s.rec.id, e))
		}
		s.spec.perform(s, e)
	}
}

func (s *shell) spawn(e spawn) {
	if s.children[e.key] != nil {
		panic(fmt.Sprintf("actor %s has a child %q already", s.rec.id, e.key))
	}
	// protoactor frees a name only after the parent has heard that its bearer is gone, so the name is new each time.
	name := fmt.Sprintf("%s-%d", url.PathEscape(e.spec.kind+":"+e.spec.name), s.tree.serial.Add(1))
	pid, err := s.context.SpawnNamed(s.tree.props(s.rec, e.spec), name)
	if err != nil {
		panic(fmt.Errorf("start actor %s under %s: %w", name, s.rec.id, err))
	}
	s.children[e.key], s.keys[pid.GetId()] = pid, e.key
}

// do runs f in a goroutine that the tree's end waits for, and sends its answer to the actor, unless it is nil or the
// actor's life has ended. A panic in f is the actor's panic.
func (s *shell) do(f func(ctx context.Context) any) {
	life, self := s.life, s.self
	s.tree.run(func() {
		message := guarded(life, f)
		if message != nil && life.Err() == nil {
			s.tree.proto.Root.Send(self, fromLife{life, message})
		}
	})
}

func guarded(ctx context.Context, f func(ctx context.Context) any) (message any) {
	defer func() {
		if p := recover(); p != nil {
			message = recovered(p)
		}
	}()
	return f(ctx)
}

// fail logs a panic where its stack is known and hands it to the supervisor. Who waits for an answer gets the error
// now.
func (s *shell) fail(c actor.Context, p crash) {
	reason := fmt.Sprint(p.value)
	s.tree.log.Error("actor failed", "actor", s.rec.id, "error", reason, "stack", string(p.stack))
	if c.Sender() != nil {
		c.Respond(&FailureError{Actor: s.rec.id, Reason: reason})
	}
	if s.end != nil {
		s.end()
	}
	if s.spec.ended != nil {
		s.spec.ended()
	}
	panic(failure{rec: s.rec, reason: reason, notify: s.spec.failed})
}

// FailureError is what a requester gets from an actor that failed over its request.
type FailureError struct{ Actor, Reason string }

func (e *FailureError) Error() string { return "actor " + e.Actor + " failed: " + e.Reason }

// busy is for how long the actor has been at work on one message.
func (s *shell) busy(now time.Time) time.Duration { return s.rec.busy(now) }

package script

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/divandb/divan/layer/script/internal/engine"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Sandbox owns the JavaScript runtimes of a node. Safe for concurrent use.
type Sandbox struct {
	limits Limits
	log    func(string)
	turns  *turns.Turns
	// slots holds one token for each runtime that may still be started.
	slots chan struct{}
	// lists holds one token for each list function that runs.
	lists chan struct{}
	// done is closed by Close.
	done    chan struct{}
	watched sync.WaitGroup
	// started wakes the watchdog when there is a runtime. It has room for one value.
	started chan struct{}

	mu struct {
		sync.Mutex
		closed   bool
		programs map[[32]byte]*pool
		all      map[*engine.Runtime]struct{}
		// idle is closed and replaced when a runtime becomes idle, to wake waiting calls.
		idle chan struct{}
	}
}

// pool holds the idle runtimes of one program. Guarded by Sandbox.mu.
type pool struct {
	key     [32]byte
	program *engine.Program
	idle    []idle
}

// idle is an unused runtime, and since when.
type idle struct {
	*engine.Runtime
	since time.Time
}

// Options are settings of a Sandbox; the zero value has the defaults.
type Options struct {
	Limits Limits
	// Log is called with the messages that functions pass to log(), possibly from several goroutines at once; nil
	// drops them.
	Log func(message string)
}

// New starts a sandbox. Close ends it.
func New(options Options) *Sandbox {
	s := &Sandbox{limits: options.Limits.withDefaults(), log: options.Log, done: make(chan struct{}),
		started: make(chan struct{}, 1)}
	s.turns = turns.New(goruntime.GOMAXPROCS(0), s.limits.Runtimes, s.limits.Wait, s.done)
	s.slots = make(chan struct{}, s.limits.Runtimes)
	for range s.limits.Runtimes {
		s.slots <- struct{}{}
	}
	s.lists = make(chan struct{}, max(1, s.limits.Runtimes/4))
	s.mu.programs = make(map[[32]byte]*pool)
	s.mu.all = make(map[*engine.Runtime]struct{})
	s.mu.idle = make(chan struct{})
	s.watched.Add(1)
	go s.watch()
	return s
}

// Close stops running calls at their next step, and waits until every runtime is closed. Calls in progress and later
// ones fail with ErrClosed.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	close(s.done)
	var unused []idle
	for _, p := range s.mu.programs {
		unused = append(unused, p.idle...)
		p.idle = nil
	}
	for r := range s.mu.all {
		r.Call().Interrupt()
	}
	s.mu.Unlock()
	for _, r := range unused {
		s.discard(r.Runtime)
	}
	for range s.limits.Runtimes {
		<-s.slots
	}
	s.watched.Wait()
	return nil
}

// watchEvery is how often the watchdog checks idle runtimes, watchCalls how often it checks running calls, and
// watchNothing how often it looks while there are no runtimes.
const (
	watchEvery   = 100 * time.Millisecond
	watchCalls   = 25 * time.Millisecond
	watchNothing = 5 * time.Second
)

// watch is the watchdog: it kills calls that do not end, by revoking access to their memory, and closes runtimes that
// have been idle for long. After Close it runs until the last runtime is closed.
func (s *Sandbox) watch() {
	defer s.watched.Done()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	done := s.done
	for {
		select {
		case <-tick.C:
		case <-s.started:
		case <-done:
			done = nil
		}
		idle, calls := s.stale(time.Now())
		for _, r := range idle {
			s.discard(r)
		}
		none := s.running() == 0
		switch {
		case done == nil && none:
			return
		case done == nil:
			tick.Reset(watchEvery / 10)
		case none:
			tick.Reset(watchNothing)
		case calls:
			tick.Reset(watchCalls)
		default:
			tick.Reset(watchEvery)
		}
	}
}

func (s *Sandbox) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.all)
}

// stale kills calls that do not end, and removes runtimes that have been idle for too long at t. calls reports
// whether any calls are running.
func (s *Sandbox) stale(t time.Time) (out []*engine.Runtime, calls bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var running []*turns.Turn
	owners := map[*turns.Turn]*engine.Call{}
	for r := range s.mu.all {
		call := r.Call()
		call.KillIfStuck()
		if turn := call.Turn(); turn != nil {
			running = append(running, turn)
			owners[turn] = call
		}
	}
	for _, turn := range s.turns.Watch(turns.Now(), running) {
		owners[turn].KillFor(turn)
	}
	for key, p := range s.mu.programs {
		keep := p.idle[:0]
		for _, r := range p.idle {
			if t.Sub(r.since) > s.limits.Idle {
				out = append(out, r.Runtime)
				s.turns.HasIdle(key, -1)
				continue
			}
			keep = append(keep, r)
		}
		p.idle = keep
		if len(p.idle) == 0 {
			delete(s.mu.programs, key)
		}
	}
	return out, len(running) > 0
}

// acquire returns a runtime loaded with the program, for a call that has the turn: an idle one, or a new one as soon
// as one may be started. The caller returns it with release.
func (s *Sandbox) acquire(ctx context.Context, t *turns.Turn, key [32]byte, p *engine.Program) (*engine.Runtime,
	error) {
	for {
		s.mu.Lock()
		if s.mu.closed {
			s.mu.Unlock()
			return nil, ErrClosed
		}
		if pool := s.mu.programs[key]; pool != nil && len(pool.idle) > 0 {
			last := len(pool.idle) - 1
			r := pool.idle[last].Runtime
			pool.idle = pool.idle[:last]
			s.turns.HasIdle(key, -1)
			s.mu.Unlock()
			r.Lend(ctx, t)
			return r, nil
		}
		wake := s.mu.idle
		s.mu.Unlock()
		select {
		case <-s.slots:
			return s.start(ctx, t, p)
		default:
		}
		if r := s.evict(); r != nil {
			s.discard(r)
			continue
		}
		s.turns.YieldRuntime()
		select {
		case <-s.slots:
			return s.start(ctx, t, p)
		case <-wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.done:
			return nil, ErrClosed
		}
	}
}

// start starts a runtime for p. The caller has taken a slot.
func (s *Sandbox) start(ctx context.Context, t *turns.Turn, p *engine.Program) (*engine.Runtime, error) {
	began := time.Now()
	r, err := engine.New(s.limits.Memory, s.log, s.done)
	if err != nil {
		s.slots <- struct{}{}
		return nil, err
	}
	s.turns.Started(time.Since(began))
	s.mu.Lock()
	closed := s.mu.closed
	s.mu.all[r] = struct{}{}
	s.mu.Unlock()
	select {
	case s.started <- struct{}{}:
	default: // it is about to look
	}
	if closed {
		s.discard(r)
		return nil, ErrClosed
	}
	r.Lend(ctx, t)
	if err := r.Load(p, s.compileTime()); err != nil {
		s.discard(r)
		return nil, err
	}
	if err := r.Preload(p, s.limits.Time); err != nil {
		s.discard(r)
		return nil, err
	}
	return r, nil
}

// compileTime returns how long compiling one function may take.
func (s *Sandbox) compileTime() time.Duration { return max(s.limits.Time, minCompile) }

// evict removes the runtime that was idle for longest, of any program; nil if all are busy.
func (s *Sandbox) evict() *engine.Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *pool
	for _, p := range s.mu.programs {
		if len(p.idle) > 0 && (oldest == nil || p.idle[0].since.Before(oldest.idle[0].since)) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil
	}
	r := oldest.idle[0].Runtime
	oldest.idle = oldest.idle[1:]
	s.turns.HasIdle(oldest.key, -1)
	return r
}

// release returns a runtime to the idle ones, unless it is dead.
func (s *Sandbox) release(key [32]byte, p *engine.Program, r *engine.Runtime) {
	r.Return()
	s.mu.Lock()
	if r.Call().Dead() || s.mu.closed {
		s.mu.Unlock()
		s.discard(r)
		return
	}
	if s.mu.programs[key] == nil {
		s.mu.programs[key] = &pool{key: key, program: p}
	}
	s.mu.programs[key].idle = append(s.mu.programs[key].idle, idle{r, time.Now()})
	s.turns.HasIdle(key, 1)
	close(s.mu.idle)
	s.mu.idle = make(chan struct{})
	s.mu.Unlock()
}

func (s *Sandbox) discard(r *engine.Runtime) {
	s.forget(r)
	s.slots <- struct{}{}
}

// forget closes a runtime that has no slot.
func (s *Sandbox) forget(r *engine.Runtime) {
	s.mu.Lock()
	delete(s.mu.all, r)
	s.mu.Unlock()
	r.Close()
}

// checked compiles p once, so that errors in its sources are found when a handle is created and not at the first
// document.
func (s *Sandbox) checked(ctx context.Context, p *engine.Program) (handle, error) {
	h := handle{s: s, p: p, key: p.Key()}
	if err := h.with(ctx, func(r *engine.Runtime) error { return r.Check(p, s.compileTime()) }); err != nil {
		return handle{}, err
	}
	return h, nil
}

// handle is a program in its sandbox.
type handle struct {
	s   *Sandbox
	p   *engine.Program
	key [32]byte
}

// with runs f with a runtime of the program, and again if it was stopped in favour of other calls. If f leaves the
// runtime dead, the runtime is closed. f must guard what it runs in the engine.
func (h handle) with(ctx context.Context, f func(r *engine.Runtime) error) error {
	t := h.s.turns.Open(ctx, h.key)
	defer t.Close()
	for {
		if err := h.attempt(ctx, t, f); !errors.Is(err, turns.ErrStopped) {
			return err
		}
	}
}

func (h handle) attempt(ctx context.Context, t *turns.Turn, f func(r *engine.Runtime) error) error {
	if err := t.Begin(); err != nil {
		return err
	}
	defer t.End()
	r, err := h.s.acquire(ctx, t, h.key, h.p)
	if err != nil {
		return err
	}
	defer h.s.release(h.key, h.p, r)
	return h.run(t, r, f)
}

// run runs f with a runtime that was acquired for t.
func (h handle) run(t *turns.Turn, r *engine.Runtime, f func(r *engine.Runtime) error) error {
	t.Loaded()
	err := f(r)
	if r.Call().Dead() && h.s.closing() {
		return ErrClosed
	}
	return err
}

// once makes one call of the program's first function with a runtime, guarded and within the time limit.
func (h handle) once(ctx context.Context, f func(f *engine.Func) error) error {
	return h.with(ctx, func(r *engine.Runtime) error { return r.Limited(0, h.s.limits.Time, f) })
}

func (s *Sandbox) closing() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

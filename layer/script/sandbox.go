package script

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	goruntime "runtime"
	"sync"
	"time"
)

// Sandbox owns the JavaScript runtimes of a node. Safe for concurrent use.
type Sandbox struct {
	limits Limits
	log    func(string)
	turns  *turns
	// slots holds one token for each runtime that may still be started.
	slots chan struct{}
	// done is closed by Close.
	done    chan struct{}
	watched sync.WaitGroup

	mu struct {
		sync.Mutex
		closed   bool
		programs map[[32]byte]*pool
		all      map[*runtime]struct{}
		// idle is closed and replaced when a runtime becomes idle, to wake those who wait for one.
		idle chan struct{}
	}
}

// pool is the idle runtimes of one program. Under Sandbox.mu.
type pool struct {
	key     [32]byte
	program *program
	idle    []*runtime
}

// Options are settings of a Sandbox; the zero value has the defaults.
type Options struct {
	Limits Limits
	// Log is given what functions pass to log(). It may be called from several goroutines at once; nil drops it.
	Log func(message string)
}

// New starts a sandbox. Close ends it.
func New(options Options) *Sandbox {
	s := &Sandbox{limits: options.Limits.withDefaults(), log: options.Log, done: make(chan struct{})}
	s.turns = newTurns(goruntime.GOMAXPROCS(0), s.limits.Runtimes, s.limits.Wait, s.done)
	s.slots = make(chan struct{}, s.limits.Runtimes)
	for range s.limits.Runtimes {
		s.slots <- struct{}{}
	}
	s.mu.programs = make(map[[32]byte]*pool)
	s.mu.all = make(map[*runtime]struct{})
	s.mu.idle = make(chan struct{})
	s.watched.Add(1)
	go s.watch()
	return s
}

// Close stops what runs at its next step, and waits until every runtime is gone. Calls under way and later ones fail with
// ErrClosed.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		return nil
	}
	s.mu.closed = true
	close(s.done)
	var idle []*runtime
	for _, p := range s.mu.programs {
		idle = append(idle, p.idle...)
		p.idle = nil
	}
	for r := range s.mu.all {
		r.hurry()
	}
	s.mu.Unlock()
	for _, r := range idle {
		s.discard(r)
	}
	for range s.limits.Runtimes {
		<-s.slots
	}
	s.watched.Wait()
	return nil
}

// watchEvery is how often the watchdog looks at idle runtimes, and watchCalls how often at calls while there are any.
const (
	watchEvery = 100 * time.Millisecond
	watchCalls = 25 * time.Millisecond
)

// watch is the watchdog: it takes the memory away from calls that do not end, and closes runtimes that nobody used. Once the
// sandbox closes it goes on until the last runtime is gone.
func (s *Sandbox) watch() {
	defer s.watched.Done()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	done := s.done
	for {
		select {
		case <-tick.C:
		case <-done:
			done = nil
		}
		idle, calls := s.stale(time.Now())
		for _, r := range idle {
			s.discard(r)
		}
		switch {
		case done == nil:
			tick.Reset(watchEvery / 10)
		case calls:
			tick.Reset(watchCalls)
		default:
			tick.Reset(watchEvery)
		}
		if done == nil && s.running() == 0 {
			return
		}
	}
}

func (s *Sandbox) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.all)
}

// stale kills calls that do not end, and takes out the runtimes that were idle for too long at t. calls says that there are calls under way.
func (s *Sandbox) stale(t time.Time) (out []*runtime, calls bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var turns []*turn
	owners := map[*turn]*runtime{}
	for r := range s.mu.all {
		r.killIfStuck()
		if turn := r.turn.Load(); turn != nil {
			turns = append(turns, turn)
			owners[turn] = r
		}
	}
	for _, turn := range s.turns.watch(now(), turns) {
		owners[turn].killFor(turn)
	}
	for key, p := range s.mu.programs {
		keep := p.idle[:0]
		for _, r := range p.idle {
			if t.Sub(r.idleSince) > s.limits.Idle {
				out = append(out, r)
				s.turns.hasIdle(key, -1)
				continue
			}
			keep = append(keep, r)
		}
		p.idle = keep
		if len(p.idle) == 0 {
			delete(s.mu.programs, key)
		}
	}
	return out, len(turns) > 0
}

// key names a program by what it is made of.
func (p *program) key() [32]byte {
	h := sha256.New()
	field := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, f := range p.functions {
		field(f.Name)
		field(f.Source)
	}
	field(string(p.root))
	if p.root == nil {
		field("")
	}
	if p.live {
		field("live")
	}
	return [32]byte(h.Sum(nil))
}

// acquire returns a runtime loaded with the program for a call that has the turn: an idle one, or a new one as soon as there may be one. The caller
// gives it back with release.
func (s *Sandbox) acquire(ctx context.Context, t *turn, key [32]byte, p *program) (*runtime, error) {
	for {
		s.mu.Lock()
		if s.mu.closed {
			s.mu.Unlock()
			return nil, ErrClosed
		}
		if pool := s.mu.programs[key]; pool != nil && len(pool.idle) > 0 {
			last := len(pool.idle) - 1
			r := pool.idle[last]
			pool.idle = pool.idle[:last]
			s.turns.hasIdle(key, -1)
			s.mu.Unlock()
			r.ctx = ctx //nolint:fatcontext // the runtime changes hands, contexts are not nested
			r.turn.Store(t)
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
		s.turns.yieldRuntime()
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

// start makes a runtime for p with a slot that the caller has taken.
func (s *Sandbox) start(ctx context.Context, t *turn, p *program) (*runtime, error) {
	began := time.Now()
	r, err := newRuntime(s.limits, s.log)
	if err != nil {
		s.slots <- struct{}{}
		return nil, err
	}
	s.turns.started(time.Since(began))
	r.closing = s.done
	s.mu.Lock()
	closed := s.mu.closed
	s.mu.all[r] = struct{}{}
	s.mu.Unlock()
	if closed {
		s.discard(r)
		return nil, ErrClosed
	}
	r.ctx = ctx
	r.turn.Store(t)
	if err := r.load(p, s.compileTime()); err != nil {
		s.discard(r)
		return nil, err
	}
	if err := r.preload(p, s.limits.Time); err != nil {
		s.discard(r)
		return nil, err
	}
	return r, nil
}

// compileTime is how long compiling one function may take.
func (s *Sandbox) compileTime() time.Duration { return max(s.limits.Time, minCompile) }

// evict takes the runtime that was idle for longest, of whatever program; nil if all are busy.
func (s *Sandbox) evict() *runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	var oldest *pool
	for _, p := range s.mu.programs {
		if len(p.idle) > 0 && (oldest == nil || p.idle[0].idleSince.Before(oldest.idle[0].idleSince)) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil
	}
	r := oldest.idle[0]
	oldest.idle = oldest.idle[1:]
	s.turns.hasIdle(oldest.key, -1)
	return r
}

// release gives a runtime back: to the idle ones if it is whole.
func (s *Sandbox) release(key [32]byte, p *program, r *runtime) {
	r.ctx = nil
	r.turn.Store(nil)
	r.reset()
	s.mu.Lock()
	if r.dead || s.mu.closed {
		s.mu.Unlock()
		s.discard(r)
		return
	}
	r.idleSince = time.Now()
	if s.mu.programs[key] == nil {
		s.mu.programs[key] = &pool{key: key, program: p}
	}
	s.mu.programs[key].idle = append(s.mu.programs[key].idle, r)
	s.turns.hasIdle(key, 1)
	close(s.mu.idle)
	s.mu.idle = make(chan struct{})
	s.mu.Unlock()
}

func (s *Sandbox) discard(r *runtime) {
	s.mu.Lock()
	delete(s.mu.all, r)
	s.mu.Unlock()
	r.close()
	s.slots <- struct{}{}
}

// checked compiles p once, so that errors in its sources are seen when a handle is made and not at the first document.
func (s *Sandbox) checked(ctx context.Context, p *program) (handle, error) {
	h := handle{s: s, p: p, key: p.key()}
	if err := h.with(ctx, func(r *runtime) error { return r.check(p, s.compileTime()) }); err != nil {
		return handle{}, err
	}
	return h, nil
}

// handle is a program in its sandbox.
type handle struct {
	s   *Sandbox
	p   *program
	key [32]byte
}

// with runs f with a runtime of the program, and runs it again where it was stopped for others. Where f leaves the runtime dead, it is thrown away. f guards
// what it does in the engine.
func (h handle) with(ctx context.Context, f func(r *runtime) error) error {
	t := h.s.turns.open(ctx, h.key)
	defer t.close()
	for {
		if err := h.attempt(ctx, t, f); !errors.Is(err, errStopped) {
			return err
		}
	}
}

func (h handle) attempt(ctx context.Context, t *turn, f func(r *runtime) error) error {
	if err := t.begin(); err != nil {
		return err
	}
	defer t.end()
	r, err := h.s.acquire(ctx, t, h.key, h.p)
	if err != nil {
		return err
	}
	defer h.s.release(h.key, h.p, r)
	t.loaded()
	err = f(r)
	if r.dead && h.s.closing() {
		return ErrClosed
	}
	return err
}

// once runs one call of the program's first function with a runtime, guarded and within the time limit.
func (h handle) once(ctx context.Context, f func(r *runtime, fn *realm) error) error {
	return h.with(ctx, func(r *runtime) error { return r.limited(0, h.s.limits.Time, f) })
}

func (s *Sandbox) closing() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// Engine is the engine of a node that uses another node's store. It implements kv.Engine and kv.Snapshotter.
type Engine struct {
	kv.Counts

	addr string
	o    Options
	name clientName

	stop    chan struct{} // closed by Close
	running sync.WaitGroup
	once    sync.Once

	degraded atomic.Pointer[[]string] // the server's reasons to need an operator, as last heard; nil before that

	mu struct {
		sync.Mutex
		conn    *conn         // nil while there is none
		changed chan struct{} // closed and replaced when conn changes
		until   time.Time     // until when transactions wait for a connection, while there is none
		refuse  time.Time     // from when new ones do not wait, while there is none
		closed  bool
		objects uint64 // the last number given to a transaction or snapshot
	}
}

var (
	_ kv.Engine           = (*Engine)(nil)
	_ kv.Snapshotter      = (*Engine)(nil)
	_ kv.SnapshotBeginner = (*Engine)(nil)
	_ kv.Checkpointer     = (*Engine)(nil)
	_ kv.Failer           = (*Engine)(nil)
	_ kv.Degrader         = (*Engine)(nil)
	_ kv.Reclaimer        = (*Engine)(nil)
)

// Open connects to the store served at addr. It waits up to Options.Timeout for the store. Once open, the engine
// reconnects whenever the connection breaks.
func Open(ctx context.Context, addr string, o Options) (*Engine, error) {
	if o.Secret == "" || slices.Contains(o.AcceptSecrets, "") {
		return nil, errors.New("remote: connecting to a store requires a secret")
	}
	e := &Engine{addr: addr, o: o.withDefaults(), stop: make(chan struct{})}
	copy(e.name[:], random(nameSize))
	e.mu.changed, e.mu.until = make(chan struct{}), time.Now().Add(e.o.Timeout)
	e.mu.refuse = e.mu.until
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	c, err := e.connect(ctx)
	if err != nil {
		return nil, err
	}
	e.running.Go(func() { e.keep(c) })
	return e, nil
}

// connect tries until ctx ends. A wrong secret ends it at once, since waiting does not help.
func (e *Engine) connect(ctx context.Context) (*conn, error) {
	pause := 5 * time.Millisecond
	secrets, secret := append([]string{e.o.Secret}, e.o.AcceptSecrets...), 0
	for {
		c, err := e.dial(ctx, secrets[secret])
		if err == nil {
			return c, nil
		}
		if errors.Is(err, errSecret) && secret+1 < len(secrets) {
			secret++
			continue
		}
		if errors.Is(err, errSecret) {
			return nil, fmt.Errorf("remote: the store at %s has another secret", e.addr)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("remote: no store answers at %s: %w", e.addr, err)
		case <-time.After(pause):
		}
		pause = min(2*pause, 500*time.Millisecond)
		secret = 0 // the store may have been restarted with another one
	}
}

// dial makes one attempt and starts the connection. An attempt to reach a machine that is gone ends after
// Options.Timeout: the system would go on for two minutes, with ever longer pauses, and notice late that it is back.
func (e *Engine) dial(ctx context.Context, secret string) (*conn, error) {
	d := net.Dialer{Timeout: e.o.Timeout}
	nc, err := d.DialContext(ctx, "tcp", e.addr)
	if err != nil {
		return nil, err
	}
	if e.o.TLS != nil {
		nc = tls.Client(nc, e.o.TLS)
	}
	stopHandshake := context.AfterFunc(ctx, func() { _ = nc.Close() })
	err = handshakeClient(nc, secret, e.name, handshakeTimeout)
	if !stopHandshake() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return newConn(e, nc), nil
}

// keep runs the connection, and replaces it each time it breaks, until Close.
func (e *Engine) keep(c *conn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e.running.Go(func() {
		select {
		case <-e.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	for {
		// The first request, so that the server's reasons to need an operator are known with its first answer.
		_ = c.send(kindPing, 0, 0, nil) // if that fails, run ends
		e.set(c, time.Time{}, 0)
		err := c.run(e.stop)
		lost := time.Now()
		if errors.Is(err, os.ErrDeadlineExceeded) { // transactions have waited since then
			lost = lost.Add(-silentPings * e.o.ping)
		}
		notice := e.o.notice()
		if c.abilities.Load()&stopping != 0 {
			notice = e.o.Timeout
		}
		e.set(nil, lost, notice)
		if e.stopped() {
			c.fail(errClosed, maybe(errClosed))
			return
		}
		// The node tells the operator of an outage, and of its end.
		e.o.Logger.Debug("the connection to the store broke", "at", e.addr, "error", err)
		// Everything open on the broken connection is lost and may be retried at once. Commits in doubt wait until
		// the server has ended them.
		c.fail(errBroken, nil)
		next := e.reconnect(ctx, c)
		if next == nil {
			c.fail(errClosed, maybe(errClosed))
			return
		}
		c.fail(errBroken, errInDoubt)
		c = next
		e.o.Logger.Debug("reconnected to the store", "at", e.addr)
	}
}

// reconnect connects again, however long it takes; it returns nil after Close. If the server is not back within
// Options.Timeout, commits in doubt fail with an unknown result; looking up their ids then waits for a connection
// too.
func (e *Engine) reconnect(ctx context.Context, broken *conn) *conn {
	patience := time.AfterFunc(e.o.Timeout, func() { broken.fail(errBroken, errInDoubt) })
	defer patience.Stop()
	for {
		c, err := e.connect(ctx)
		if err == nil {
			return c
		}
		if ctx.Err() != nil {
			return nil
		}
		e.o.Logger.Error("the store refuses this node", "at", e.addr, "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
	}
}

func (e *Engine) stopped() bool {
	select {
	case <-e.stop:
		return true
	default:
		return false
	}
}

// set makes c the connection, or nil if the store does not answer since lost. Then transactions that begin after notice
// do not wait for it.
func (e *Engine) set(c *conn, lost time.Time, notice time.Duration) {
	e.mu.Lock()
	// It may be this process that was stopped for so long. Then there is a connection at once.
	least := time.Now().Add(e.o.Timeout / 10)
	later := func(t time.Time) time.Time {
		if t.Before(least) {
			return least
		}
		return t
	}
	e.mu.conn, e.mu.until, e.mu.refuse = c, later(lost.Add(e.o.Timeout)), later(lost.Add(notice))
	close(e.mu.changed)
	e.mu.changed = make(chan struct{})
	e.mu.Unlock()
}

// connection returns the connection and a new object's number on it. If there is no connection, it waits until the
// store has not answered for Options.Timeout, so that only the first of the many steps of a request waits. It does not
// wait for a store that is known to be away.
func (e *Engine) connection(ctx context.Context, cancelled <-chan struct{}) (*conn, uint64, error) {
	var limit <-chan time.Time
	for {
		e.mu.Lock()
		c, changed, closed, until := e.mu.conn, e.mu.changed, e.mu.closed, e.mu.until
		if c != nil && !closed && !c.silent() {
			e.mu.objects++
			n := e.mu.objects
			e.mu.Unlock()
			return c, n, nil
		}
		refuse := e.mu.refuse
		e.mu.Unlock()
		if closed {
			return nil, 0, errClosed
		}
		if c != nil || limit == nil && time.Now().After(refuse) {
			return nil, 0, errUnreachable
		}
		if limit == nil {
			t := time.NewTimer(time.Until(until))
			defer t.Stop()
			limit = t.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, contextError(ctx)
		case <-cancelled:
			return nil, 0, errCancelled
		case <-limit:
			return nil, 0, errUnreachable
		}
	}
}

// able reports whether the server of the current connection has an ability.
func (e *Engine) able(ability uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.mu.conn != nil && e.mu.conn.abilities.Load()&ability != 0
}

// contextError returns the engine's error for an ended context, or nil.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errTimedOut
	}
	return errCancelled
}

// Name implements kv.Engine.
func (e *Engine) Name() string { return "remote" }

// Begin implements kv.Engine.
func (e *Engine) Begin(ctx context.Context) kv.Transaction {
	t := &transaction{}
	t.e, t.ctx, t.cancelled = e, ctx, make(chan struct{})
	return t
}

// Close implements kv.Engine. A commit in progress at the server may still happen.
func (e *Engine) Close() error {
	e.once.Do(func() {
		e.mu.Lock()
		e.mu.closed = true
		close(e.mu.changed)
		e.mu.changed = make(chan struct{})
		e.mu.Unlock()
		close(e.stop)
	})
	e.running.Wait()
	return nil
}

// Failed implements kv.Failer. Once a server has reported a failure, it stays failed until its connections end.
func (e *Engine) Failed() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.mu.conn == nil {
		return nil
	}
	if err := e.mu.conn.failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Degraded implements kv.Degrader. It returns what the server's engine reported at the last ping, also while the server
// does not answer: that ends no reason.
func (e *Engine) Degraded() []string {
	if reasons := e.degraded.Load(); reasons != nil {
		return *reasons
	}
	return nil
}

// Reclaim implements kv.Reclaimer.
func (e *Engine) Reclaim(ctx context.Context, r kv.KeyRange) error {
	c, object, err := e.connection(ctx, nil)
	if err != nil {
		return err
	}
	k := c.ask(kindReclaim|beginFlag, object, func(dst []byte) []byte {
		return appendBytes(appendBytes(dst, r.Begin), r.End)
	})
	_, err = k.wait(ctx, nil)
	return err
}

// Checkpoint implements kv.Checkpointer. dir is a directory of the server's machine.
func (e *Engine) Checkpoint(ctx context.Context, dir string) error {
	c, object, err := e.connection(ctx, nil)
	if err != nil {
		return err
	}
	k := c.ask(kindCheckpoint|beginFlag, object, func(dst []byte) []byte { return appendBytes(dst, []byte(dir)) })
	_, err = k.wait(ctx, nil)
	return err
}

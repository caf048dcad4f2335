package remote

import (
	"bufio"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn is the client's side of one connection. Engine.keep owns and runs it; all transactions on it may send.
type conn struct {
	e   *Engine
	nc  net.Conn
	out *output

	// failure is set once the server reports that its store takes no more writes.
	failure atomic.Pointer[error]

	asked     atomic.Int64  // requests waiting for an answer, without watches
	abilities atomic.Uint64 // as the server has told; 0 until then

	// quiet counts pings since the server was last heard. It counts, instead of a clock, because all pings that this
	// process missed while it was stopped are one.
	quiet atomic.Int32

	mu struct {
		sync.Mutex
		last    uint32 // the last number given to a request
		waiting map[uint32]*call
		broken  error // the answer to requests after the connection broke
	}
}

// call is a request that expects an answer.
type call struct {
	kind   kind
	commit bool          // its result is unknown if the connection breaks
	watch  *watch        // set if the call is a watch
	number uint32        // of the request
	done   chan struct{} // closed when the answer has arrived
	answer frame
	err    error
	held   *conn // has the request, and may still hold it; nil if it was sent
}

func newConn(e *Engine, nc net.Conn) *conn {
	c := &conn{e: e, nc: nc, out: newOutput(nc, maxUnsent, silentPings*e.o.ping)}
	c.mu.waiting = make(map[uint32]*call)
	return c
}

// run reads answers until the connection breaks or stop is closed. Nothing is sent or answered afterwards.
func (c *conn) run(stop <-chan struct{}) error {
	ended := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { c.ping(stop, ended) })
	err := c.read()
	close(ended)
	_ = c.nc.Close() // it has ended, or ends here
	c.out.stop(net.ErrClosed)
	helpers.Wait()
	return err
}

// ping sends pings, and closes the connection on stop.
func (c *conn) ping(stop, ended <-chan struct{}) {
	tick := time.NewTicker(c.e.o.ping)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-stop:
			_ = c.nc.Close() // the reader notices
			return
		case <-tick.C:
			c.quiet.Add(1)
			_ = c.send(kindPing, 0, 0, nil) // the reader notices if the connection is broken
		}
	}
}

// silent reports whether the server has been silent for so long that new transactions need not try.
func (c *conn) silent() bool {
	return time.Duration(c.quiet.Load())*c.e.o.ping > c.e.o.notice()
}

func (c *conn) noteDegraded(payload []byte) error {
	var reasons []string
	d := decoder{b: payload}
	for len(d.b) > 0 && d.err == nil {
		reasons = append(reasons, string(d.bytes()))
	}
	c.e.degraded.Store(&reasons)
	return d.err
}

func (c *conn) read() error {
	in := bufio.NewReaderSize(patient{c.nc, silentPings * c.e.o.ping}, 64<<10)
	for {
		f, err := readFrame(in)
		if err != nil {
			return err
		}
		c.quiet.Store(0)
		if f.kind == kindPong {
			if err := c.noteDegraded(f.payload); err != nil {
				return err
			}
			continue
		}
		if f.kind == kindAbilities {
			d := decoder{b: f.payload}
			c.abilities.Store(d.uvarint())
			continue
		}
		c.mu.Lock()
		k := c.mu.waiting[f.request]
		delete(c.mu.waiting, f.request)
		c.mu.Unlock()
		if k != nil {
			c.finish(k, f, nil)
		}
	}
}

// finish answers a waiting call.
func (c *conn) finish(k *call, f frame, err error) {
	if k.watch == nil {
		c.asked.Add(-1)
	}
	k.finish(f, err)
}

// finish gives a call its answer. It is called once, by whoever removes the call from waiting.
func (k *call) finish(f frame, err error) {
	if err == nil && f.kind == kindError {
		err = decodeError(f.payload)
	}
	k.answer, k.err = f, err
	close(k.done)
	if k.watch != nil {
		k.watch.answered(err)
	}
}

// fail answers every request with err, or commits with doubt. If doubt is nil, commits keep waiting.
func (c *conn) fail(err, doubt error) {
	c.mu.Lock()
	if c.mu.broken == nil {
		c.mu.broken = err
	}
	var failed []*call
	for n, k := range c.mu.waiting {
		if !k.commit || doubt != nil {
			failed = append(failed, k)
			delete(c.mu.waiting, n)
		}
	}
	c.mu.Unlock()
	for _, k := range failed {
		if k.commit {
			c.finish(k, frame{}, doubt)
		} else {
			c.finish(k, frame{}, err)
		}
	}
}

// send sends a frame that expects no answer.
func (c *conn) send(k kind, object uint64, request uint32, build func(dst []byte) []byte) error {
	return c.out.send(c.others(), encode(k, object, request, build))
}

// hold is send for a frame that need not arrive before others are sent, at the latest the next ping.
func (c *conn) hold(k kind, object uint64, request uint32, build func(dst []byte) []byte) error {
	return c.out.hold(encode(k, object, request, build))
}

// others reports whether other goroutines are likely to send too.
func (c *conn) others() bool { return c.asked.Load() > 1 }

// encode returns a function that appends a frame. build, which may be nil, appends its payload.
func encode(k kind, object uint64, request uint32, build func(dst []byte) []byte) func(dst []byte) []byte {
	return func(dst []byte) []byte {
		start := len(dst)
		dst = appendFrame(dst, k, object, request)
		if build != nil {
			dst = build(dst)
		}
		return endFrame(dst, start)
	}
}

// ask sends a request. Its call is finished by the server's answer or by the end of the connection. Reads are held
// until somebody waits for an answer, because most transactions begin several at once.
func (c *conn) ask(kd kind, object uint64, build func(dst []byte) []byte) *call {
	return c.askAs(&call{kind: kd, done: make(chan struct{})}, object, build)
}

func (c *conn) askAs(k *call, object uint64, build func(dst []byte) []byte) *call {
	urgent := k.commit || k.watch != nil
	if !urgent {
		k.held = c
	}
	if k.number = c.register(k, 0); k.number == 0 {
		return k
	}
	// If sending fails, the connection is about to end, which finishes the call.
	if urgent {
		_ = c.send(k.kind, object, k.number, build)
	} else {
		_ = c.hold(k.kind, object, k.number, build)
	}
	return k
}

// followUp sends a request with the number of an earlier one that was answered.
func (c *conn) followUp(kd kind, object uint64, number uint32) *call {
	k := &call{kind: kd, number: number, done: make(chan struct{})}
	if c.register(k, number) != 0 {
		_ = c.send(kd, object, number, nil) // see ask
	}
	return k
}

// register gives a call a new number, or the given one if it is not 0. It returns 0 if the call is finished already.
func (c *conn) register(k *call, number uint32) uint32 {
	c.mu.Lock()
	if err := c.mu.broken; err != nil {
		c.mu.Unlock()
		k.finish(frame{}, err) // also a commit, because it was not sent
		return 0
	}
	defer c.mu.Unlock()
	if number == 0 {
		// Numbers still in use after four billion requests are skipped: watches may wait that long.
		for c.mu.last++; c.mu.last == 0 || c.mu.waiting[c.mu.last] != nil; c.mu.last++ {
		}
		number = c.mu.last
	}
	c.mu.waiting[number] = k
	if k.watch == nil {
		c.asked.Add(1)
	}
	return number
}

// answered reports whether the answer has arrived.
func (k *call) answered() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}

// wait returns a call's answer, or an error if ctx ends or cancelled is closed first.
//
// It sends what the connection holds, also if the call's own answer is there: a caller that reads ahead has asked for
// more since.
func (k *call) wait(ctx context.Context, cancelled <-chan struct{}) (frame, error) {
	if k.held != nil {
		k.held.out.flush(k.held.others())
	}
	select {
	case <-k.done:
		return k.answer, k.err
	default:
	}
	select {
	case <-k.done:
		return k.answer, k.err
	case <-ctx.Done():
		return frame{}, contextError(ctx)
	case <-cancelled:
		return frame{}, errCancelled
	}
}

package remote

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// output combines the frames that many goroutines send on one connection. A goroutine that finds it idle writes for
// all that arrive meanwhile; one that finds it full waits. A write costs more than everything else in a small
// request, so it pays to let other runnable goroutines append first, and to hold frames that nobody waits for yet.
type output struct {
	nc       net.Conn
	limit    int           // bytes buffered before senders wait
	patience time.Duration // how long the other side may not read before the connection is considered broken

	mu struct {
		sync.Mutex
		room    sync.Cond // signalled when buf was emptied or the connection broke
		buf     []byte
		spare   []byte
		writing bool
		err     error
	}
}

// holdBytes bounds how much is held.
const holdBytes = 16 << 10

func newOutput(nc net.Conn, limit int, patience time.Duration) *output {
	o := &output{nc: nc, limit: limit, patience: patience}
	o.mu.room.L = &o.mu
	return o
}

// send lets build append one or more frames and ensures that they are written. It blocks while the other side does
// not read. An error is final, and the same for all callers. If others are likely to send too, the first one yields
// to the scheduler once before it writes.
func (o *output) send(others bool, build func(dst []byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.append(build); err != nil {
		return err
	}
	return o.write(others)
}

// hold is send for frames that may be written later, by the next send or flush of any goroutine.
func (o *output) hold(build func(dst []byte) []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.append(build); err != nil {
		return err
	}
	if len(o.mu.buf) > holdBytes {
		return o.write(false)
	}
	return nil
}

// flush writes what is held. others is as in send.
func (o *output) flush(others bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.write(others) // the senders' calls end with the connection
}

// append waits for room and lets build append frames. Called with mu locked.
func (o *output) append(build func(dst []byte) []byte) error {
	for len(o.mu.buf) > o.limit && o.mu.err == nil {
		o.mu.room.Wait()
	}
	if o.mu.err == nil {
		o.mu.buf = build(o.mu.buf)
	}
	return o.mu.err
}

// write writes what has been appended, and what others append meanwhile, unless another goroutine is about to. Called
// with mu locked, which it unlocks meanwhile.
func (o *output) write(others bool) error {
	if o.mu.writing || len(o.mu.buf) == 0 {
		return o.mu.err
	}
	o.mu.writing = true
	if others {
		o.mu.Unlock()
		runtime.Gosched()
		o.mu.Lock()
	}
	for len(o.mu.buf) > 0 && o.mu.err == nil {
		buf := o.mu.buf
		o.mu.buf, o.mu.spare = o.mu.spare[:0], nil
		o.mu.room.Broadcast()
		o.mu.Unlock()
		err := o.nc.SetWriteDeadline(time.Now().Add(o.patience))
		if err == nil {
			_, err = o.nc.Write(buf)
		}
		o.mu.Lock()
		if cap(buf) <= 2*o.limit {
			o.mu.spare = buf[:0]
		}
		if err != nil && o.mu.err == nil {
			o.mu.err = err
		}
	}
	o.mu.writing = false
	return o.mu.err
}

// stop makes every send fail with err. The caller closes the connection.
func (o *output) stop(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mu.err == nil {
		o.mu.err = err
	}
	o.mu.room.Broadcast()
}

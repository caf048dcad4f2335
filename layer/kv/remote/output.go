package remote

import (
	"net"
	"runtime"
	"sync"
	"time"
)

// output combines the frames that many goroutines send on one connection. A goroutine that finds it idle writes for
// all that arrive meanwhile; one that finds it full waits. A write costs more than everything else in a small
// request, so it pays to let other runnable goroutines append first.
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
	for len(o.mu.buf) > o.limit && o.mu.err == nil {
		o.mu.room.Wait()
	}
	if o.mu.err != nil {
		return o.mu.err
	}
	o.mu.buf = build(o.mu.buf)
	if o.mu.writing {
		return nil
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

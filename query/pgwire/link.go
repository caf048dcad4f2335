package pgwire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// link is what a connection has to its client: the two directions of the stream, and how the statement under way and
// the stream itself end, which other goroutines may ask for too.
type link struct {
	nc     net.Conn // replaced once, by TLS, under mu
	secure bool
	in     frames
	out    *outbox

	mu struct {
		sync.Mutex
		running context.CancelCauseFunc // of the statement under way, or nil
		closing bool                    // the server shuts down
		evicted bool                    // it has to go before it has authenticated, for others
	}
}

var errShutdown = sqlstate.New(sqlstate.AdminShutdown, "terminating connection due to administrator command")

// errGone is the cause of the cancellation when the client has gone.
var errGone = errors.New("client has gone")

// begin opens the time of a statement, in which it can be cancelled. The function it returns closes it.
func (l *link) begin(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	l.mu.Lock()
	l.mu.running = cancel
	closing := l.mu.closing
	l.mu.Unlock()
	if closing {
		cancel(errShutdown)
	}
	unwatch := l.watch(cancel)
	return ctx, func() {
		unwatch()
		l.mu.Lock()
		l.mu.running = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

// cancelStatement ends the statement under way, if there is one, with err. Any goroutine.
func (l *link) cancelStatement(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.running != nil {
		l.mu.running(err)
	}
}

// terminate is Shutdown's: what runs is cancelled, what waits for the client stops waiting. Any goroutine.
func (l *link) terminate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closing = true
	if l.mu.running != nil {
		l.mu.running(errShutdown)
	}
	_ = l.nc.SetReadDeadline(time.Unix(1, 0))
	_ = l.nc.SetWriteDeadline(time.Now().Add(time.Second))
}

// evict ends a connection that is in start-up, with 53300. Any goroutine.
func (l *link) evict() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.evicted = true
	_ = l.nc.SetReadDeadline(time.Unix(1, 0))
	_ = l.nc.SetWriteDeadline(time.Now().Add(time.Second))
}

func (l *link) isEvicted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.evicted
}

func (l *link) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.closing
}

// deadline sets or lifts both deadlines, unless the connection is to end: then the next read is to fail and to say why.
func (l *link) deadline(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.closing && !l.mu.evicted {
		_ = l.nc.SetDeadline(t)
	}
}

// hangUp is for clients that do not let go in time. Any goroutine.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.nc.Close()
}

// replace puts TLS over the connection.
func (l *link) replace(nc net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nc, l.secure = nc, true
}

// watch notices a client that goes while a statement runs for longer than watchDelay, and ends the statement then. The
// function it returns stops watching; only after it may the connection be read again.
func (l *link) watch(gone context.CancelCauseFunc) func() {
	done := make(chan struct{}) // closed when the watcher's goroutine ends
	timer := time.AfterFunc(watchDelay, func() {
		defer close(done)
		for l.in.r.Buffered() < l.in.r.Size() {
			// What a client sends ahead stays in the buffer.
			if _, err := l.in.r.Peek(l.in.r.Buffered() + 1); err != nil {
				var ne net.Error
				if !errors.As(err, &ne) || !ne.Timeout() {
					gone(errGone)
				}
				return
			}
		}
	})
	return func() {
		if timer.Stop() {
			return
		}
		_ = l.nc.SetReadDeadline(time.Unix(1, 0))
		<-done
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.mu.closing {
			_ = l.nc.SetReadDeadline(time.Time{})
		}
	}
}

// fatal sends the last message of a connection.
func (l *link) fatal(e *sqlstate.Error) {
	l.send(errorResponse("FATAL", e))
	_ = l.out.Flush()
}

// linger waits a moment for a client that was refused to hang up. To close a connection on which something has come
// that was not read would make its system throw away the refusal.
func (l *link) linger() {
	w, ok := l.nc.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		return
	}
	l.deadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, l.nc, maxStartupPacket)
}

// errWrite wraps errors of writing to the client, to which nothing more can be said.
var errWrite = errors.New("write to the client failed")

// send buffers a message. An error sticks in the outbox and shows at the next flush.
func (l *link) send(msg pgproto3.BackendMessage) { _ = l.out.send(msg) }

// flush sends what is buffered.
func (l *link) flush() error {
	if err := l.out.Flush(); err != nil {
		return errors.Join(errWrite, err)
	}
	return nil
}

// attach makes the buffered sides over the connection, once it is known to be TLS or not.
func (l *link) attach() {
	l.in = frames{r: bufio.NewReaderSize(l.nc, 16<<10)}
	l.out = &outbox{nc: l.nc}
}

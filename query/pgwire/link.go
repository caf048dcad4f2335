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

// link is the connection to the client: both directions of the stream, and the ways to end the current statement and
// the stream itself, which other goroutines may use too.
type link struct {
	nc     net.Conn // replaced once, by TLS, under mu
	secure bool
	in     frames
	out    *outbox
	// encoding is the client's character set, nil for UTF-8. It is changed while a message is handled.
	encoding Encoding

	mu struct {
		sync.Mutex
		running context.CancelCauseFunc // of the current statement, or nil
		waiting bool                    // between the messages of a COPY FROM STDIN
		pending error                   // cancels the next message of the COPY
		resting bool                    // waits for the client, with everything answered that has arrived
		ending  bool                    // terminate when the connection rests
		closing bool                    // the server is shutting down
		evicted bool                    // ended before authentication to make room for others
	}
}

var errShutdown = sqlstate.New(sqlstate.AdminShutdown, "terminating connection due to administrator command")

// errGone is the cause of the cancellation if the client has disconnected.
var errGone = errors.New("client has gone")

// begin starts the time in which a statement can be cancelled. The returned function ends it.
// With waits it also ends when the client has gone, for messages that may take long.
func (l *link) begin(parent context.Context, waits bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	l.mu.Lock()
	l.mu.running = cancel
	closing, pending := l.mu.closing, l.mu.pending
	l.mu.pending = nil
	l.mu.Unlock()
	if closing {
		cancel(errShutdown)
	}
	if pending != nil {
		cancel(pending)
	}
	unwatch := func() {}
	if waits {
		unwatch = l.watch(cancel)
	}
	return ctx, func() {
		unwatch()
		l.mu.Lock()
		l.mu.running = nil
		l.mu.Unlock()
		cancel(nil)
	}
}

// cancelStatement cancels the current statement, if there is one, with err. It may be called from any goroutine.
func (l *link) cancelStatement(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.running != nil:
		l.mu.running(err)
	case l.mu.waiting:
		l.mu.pending = err
	}
}

// waitForData begins and ends a COPY FROM STDIN. If it is cancelled while it waits for the client, its next message
// is refused, as in PostgreSQL.
func (l *link) waitForData(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.waiting, l.mu.pending = on, nil
}

// rest begins and ends the time in which everything that has arrived is answered.
func (l *link) rest(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.resting = on; on && l.mu.ending {
		l.close()
	}
}

// finish terminates the connection once it has answered what has arrived. It may be called from any goroutine.
func (l *link) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.ending = true; l.mu.resting {
		l.close()
	}
}

// terminate cancels the current statement and the wait for the client. It may be called from any goroutine.
func (l *link) terminate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
}

// close is terminate with mu locked.
func (l *link) close() {
	l.mu.closing = true
	if l.mu.running != nil {
		l.mu.running(errShutdown)
	}
	_ = l.nc.SetReadDeadline(time.Unix(1, 0))
	_ = l.nc.SetWriteDeadline(time.Now().Add(time.Second))
}

// evict ends a connection during start-up with 53300. It may be called from any goroutine.
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

// deadline sets or clears both deadlines, unless the connection is to end: then the next read must fail and report why.
func (l *link) deadline(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.closing && !l.mu.evicted {
		_ = l.nc.SetDeadline(t)
	}
}

// hangUp closes the connection of a client that does not end in time. It may be called from any goroutine.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.nc.Close()
}

// replace replaces the connection by one with TLS.
func (l *link) replace(nc net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nc, l.secure = nc, true
}

// watch detects a client that disconnects while a statement runs for longer than watchDelay, and cancels the statement.
// The returned function stops watching; the connection may be read again only afterwards.
func (l *link) watch(gone context.CancelCauseFunc) func() {
	done := make(chan struct{}) // closed when the watcher's goroutine ends
	timer := time.AfterFunc(watchDelay, func() {
		defer close(done)
		for l.in.r.Buffered() < l.in.r.Size() {
			// Bytes that a client sends in advance stay in the buffer.
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
	l.send(l.errorResponse("FATAL", e))
	_ = l.out.Flush()
}

// linger waits a moment for a refused client to hang up. Closing a connection with unread input would make the client's
// system discard the refusal.
func (l *link) linger() {
	w, ok := l.nc.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		return
	}
	l.deadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, l.nc, maxStartupPacket)
}

// errWrite wraps errors of writing to the client. Nothing more can be sent then.
var errWrite = errors.New("write to the client failed")

// send buffers a message. An error stays in the outbox and is returned by the next flush.
func (l *link) send(msg pgproto3.BackendMessage) { _ = l.out.send(msg) }

// flush sends what is buffered.
func (l *link) flush() error {
	if err := l.out.Flush(); err != nil {
		return errors.Join(errWrite, err)
	}
	return nil
}

// attach creates the buffers over the connection after TLS has been negotiated.
func (l *link) attach() {
	l.in = frames{r: bufio.NewReaderSize(l.nc, 16<<10)}
	l.out = &outbox{nc: l.nc}
}

package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// conn is one connection. Its goroutine (run) owns every field but mu's and those marked.
type conn struct {
	srv     *Server
	log     *slog.Logger
	in      frames
	out     *outbox
	session Session
	secure  bool
	seated  bool   // it has one of MaxConnections; written and read under Server.mu
	discard bool   // after an error in the extended protocol, until Sync
	row     []byte // scratch for one message
	// Set once, before others can see them through Server.mu.
	pid    uint32
	secret []byte
	// ctx lives as long as the connection.
	ctx    context.Context
	cancel context.CancelCauseFunc
	nc     net.Conn // replaced once, by TLS, under mu
	// certificate is what TLS showed the client; nil without TLS.
	certificate *tls.Certificate

	// outside says that the last ReadyForQuery was outside of a transaction.
	outside bool
	// helpers are goroutines that send notifications.
	helpers sync.WaitGroup
	// idle is held while notifications are sent beside the connection's goroutine.
	idle struct {
		sync.Mutex
		is bool
	}

	mu struct {
		sync.Mutex
		wake    chan struct{}           // there are notifications; nil before the first. Never closed
		ended   bool                    // nothing is sent any more
		running context.CancelCauseFunc // of the statement under way, or nil
		closing bool                    // the server shuts down
		evicted bool                    // it has to go before it has authenticated, for others
	}
}

var errShutdown = sqlstate.New(sqlstate.AdminShutdown, "terminating connection due to administrator command")

// errGone is the cause of the cancellation when the client has gone.
var errGone = errors.New("client has gone")

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{srv: s, nc: nc, log: s.log.With("remote", nc.RemoteAddr().String())}
	c.ctx, c.cancel = context.WithCancelCause(s.base)
	return c
}

// run is the connection's goroutine.
func (c *conn) run() {
	defer c.srv.drop(c)
	defer c.endHelpers()
	defer c.cancel(errGone)
	defer func() { _ = c.nc.Close() }()
	// The last net: panics while a message is handled are caught nearer and do not end the connection.
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("panic in sql connection", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	defer func() {
		if c.session != nil {
			c.session.Close()
		}
	}()
	if !c.startup() {
		c.linger()
		return
	}
	c.in.grow = c.session.Grow
	c.ready()
	for c.step() {
	}
	_ = c.out.Flush()
}

// step receives and handles one message. It answers false at the end of the connection.
func (c *conn) step() bool {
	if c.in.r.Buffered() == 0 {
		c.setIdle(true)
		// Nothing more is known to come: let the client have what there is.
		if c.out.Flush() != nil {
			return false
		}
	}
	patience := c.session.IdleTimeout()
	if patience > 0 {
		c.deadline(time.Now().Add(patience))
	}
	typ, body, err := c.in.next(maxMessage)
	c.setIdle(false)
	if patience > 0 {
		c.deadline(time.Time{})
	}
	if err == nil {
		if typ == 'X' {
			return false
		}
		defer c.giveBack()
		return c.handle(typ, body)
	}
	c.giveBack()
	var room *errNoRoom
	if errors.As(err, &room) {
		if typ == 'd' || typ == 'c' || typ == 'f' || c.discard && typ != 'S' {
			return true
		}
		c.refuse(typ, sqlstate.From(room.err))
		return true
	}
	var long *errTooLong
	var frame *errFraming
	switch {
	case errors.As(err, &long):
		e := sqlstate.New(sqlstate.ProgramLimitExceeded, "message of %d bytes is longer than the limit of %d", long.size, maxMessage)
		c.refuse(typ, e)
		return true
	case errors.As(err, &frame):
		c.fatal(sqlstate.New(sqlstate.ProtocolViolation, "%s", frame.what))
	case c.isClosing():
		c.fatal(errShutdown)
	case patience > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		c.fatal(sqlstate.New(sqlstate.IdleInTransactionTimeout, "terminating connection due to idle-in-transaction timeout"))
	case !isEOF(err):
		c.log.Debug("sql connection lost", "err", err)
	}
	return false
}

// giveBack returns the memory of the last message.
func (c *conn) giveBack() {
	if c.in.held > 0 {
		c.session.Shrink(c.in.held)
		c.in.held = 0
	}
}

// handle runs one message; a panic in it is an error of that message.
func (c *conn) handle(typ byte, body []byte) (alive bool) {
	if c.discard && typ != 'S' {
		return true
	}
	ctx, stop := c.begin()
	defer stop()
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("panic in sql statement", "panic", r, "stack", string(debug.Stack()))
			c.refuse(typ, sqlstate.New(sqlstate.InternalError, "internal error"))
			alive = true
		}
	}()
	err := c.dispatch(ctx, typ, body)
	if err == nil {
		return true
	}
	if ctx.Err() != nil {
		// Whatever the error says of it, the reason is why the context ended.
		var e *sqlstate.Error
		if !errors.As(err, &e) || e.Code == sqlstate.QueryCanceled {
			err = context.Cause(ctx)
		}
	}
	if errors.Is(err, errGone) || errors.Is(err, errWrite) {
		return false
	}
	e := sqlstate.From(err)
	if e.Code == sqlstate.AdminShutdown {
		c.fatal(e)
		return false
	}
	if e.Code == sqlstate.InternalError {
		c.log.Error("sql statement failed", "err", err)
	}
	c.refuse(typ, e)
	return true
}

// begin opens the time of a statement, in which it can be cancelled. The function it returns closes it.
func (c *conn) begin() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	c.mu.Lock()
	c.mu.running = cancel
	closing := c.mu.closing
	c.mu.Unlock()
	if closing {
		cancel(errShutdown)
	}
	unwatch := c.watch(cancel)
	return ctx, func() {
		unwatch()
		c.mu.Lock()
		c.mu.running = nil
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancelStatement ends the statement under way, if there is one, with err. Any goroutine.
func (c *conn) cancelStatement(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.running != nil {
		c.mu.running(err)
	}
}

// terminate is Shutdown's: what runs is cancelled, what waits for the client stops waiting. Any goroutine.
func (c *conn) terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.closing = true
	if c.mu.running != nil {
		c.mu.running(errShutdown)
	}
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
}

// evict ends a connection that is in start-up, with 53300. Any goroutine.
func (c *conn) evict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.evicted = true
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
	_ = c.nc.SetWriteDeadline(time.Now().Add(time.Second))
}

func (c *conn) isEvicted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.evicted
}

func (c *conn) isClosing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.closing
}

// deadline sets or lifts both deadlines, unless the connection is to end: then the next read is to fail and to say why.
func (c *conn) deadline(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.mu.closing && !c.mu.evicted {
		_ = c.nc.SetDeadline(t)
	}
}

// hangUp is for clients that do not let go in time. Any goroutine.
func (c *conn) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.nc.Close()
}

func (c *conn) replaceConn(nc net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nc, c.secure = nc, true
}

// watch notices a client that goes while a statement runs for longer than watchDelay, and ends the statement then. The function it
// returns stops watching; only after it may the connection be read again.
func (c *conn) watch(gone context.CancelCauseFunc) func() {
	done := make(chan struct{}) // closed when the watcher's goroutine ends
	timer := time.AfterFunc(watchDelay, func() {
		defer close(done)
		for c.in.r.Buffered() < c.in.r.Size() {
			// What a client sends ahead stays in the buffer.
			if _, err := c.in.r.Peek(c.in.r.Buffered() + 1); err != nil {
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
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
		<-done
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.mu.closing {
			_ = c.nc.SetReadDeadline(time.Time{})
		}
	}
}

// refuse answers a message with an error. For the extended protocol the rest is discarded until Sync; a simple query ends here.
func (c *conn) refuse(typ byte, e *sqlstate.Error) {
	if c.session != nil {
		c.session.Fail()
	}
	c.send(errorResponse("ERROR", e))
	switch typ {
	case 'Q', 'F':
		c.ready()
	case 'S':
		c.discard = false
		c.ready()
	default:
		c.discard = true
	}
}

// fatal sends the last message of a connection.
func (c *conn) fatal(e *sqlstate.Error) {
	c.send(errorResponse("FATAL", e))
	_ = c.out.Flush()
}

// linger waits a moment for a client that was refused to hang up. To close a connection on which something has come that was not read
// would make its system throw away the refusal.
func (c *conn) linger() {
	w, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || w.CloseWrite() != nil {
		return
	}
	c.deadline(time.Now().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.nc, maxStartupPacket)
}

func (c *conn) ready() {
	status := c.session.Status()
	if c.outside = status == 'I'; c.outside {
		c.sendNotifications()
	}
	c.send(&pgproto3.ReadyForQuery{TxStatus: status})
	_ = c.out.Flush()
}

// errWrite wraps errors of writing to the client, to which nothing more can be said.
var errWrite = errors.New("write to the client failed")

// send buffers a message. An error sticks in the outbox and shows at the next flush.
func (c *conn) send(msg pgproto3.BackendMessage) { _ = c.out.send(msg) }

// Notice implements Client.
func (c *conn) Notice(n *sqlstate.Error) {
	notice := pgproto3.NoticeResponse(*errorResponse("NOTICE", n))
	if n.Code == sqlstate.Warning || n.Code == sqlstate.NoActiveTransaction || n.Code == sqlstate.ActiveTransaction {
		notice.Severity, notice.SeverityUnlocalized = "WARNING", "WARNING"
	}
	c.send(&notice)
}

// ParameterStatus implements Client.
func (c *conn) ParameterStatus(name, value string) {
	c.send(&pgproto3.ParameterStatus{Name: name, Value: value})
}

func errorResponse(severity string, e *sqlstate.Error) *pgproto3.ErrorResponse {
	// Some errors name a value that the client gave.
	const longest = 16 << 10
	cut := func(s string) string {
		if len(s) > longest {
			return strings.ToValidUTF8(s[:longest], "") + "..."
		}
		return s
	}
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: string(e.Code),
		Message: cut(e.Message), Detail: cut(e.Detail), Hint: cut(e.Hint), Position: int32(e.Pos)}
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

func protocolError(typ byte, err error) error {
	return &sqlstate.Error{Code: sqlstate.ProtocolViolation, Message: fmt.Sprintf("invalid message of type %q: %v", typ, err)}
}

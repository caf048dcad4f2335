package pgwire

import (
	"context"
	"errors"
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

// conn is one connection: a link, and the session that answers its messages. Its goroutine (run) owns all fields except
// waking and those marked otherwise.
type conn struct {
	link
	srv     *Server
	log     *slog.Logger
	session Session
	seated  bool    // counted in MaxConnections; guarded by Server.mu
	surplus bool    // there are files for no more connections: it is refused after its start-up message
	inside  *Inside // set if the node itself runs SQL here
	// undone and kept are what an Undoer says at the end of a connection with inside.
	undone, kept bool

	copying *copying // a COPY FROM STDIN whose data is being received
	// resumed is set while the statements of a simple query run that follow a COPY FROM STDIN.
	resumed bool
	discard bool   // after an error in the extended protocol, until Sync
	row     []byte // scratch space for one message
	// Set once, before other goroutines can see the connection through Server.mu.
	pid    uint32
	secret []byte
	// ctx ends with the connection.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// outside reports whether the last ReadyForQuery was outside a transaction.
	outside bool
	// partway reports whether a message was handled since then: its statement's implicit transaction may still run.
	partway bool
	// helpers are goroutines that send notifications.
	helpers sync.WaitGroup
	// idle is held while notifications are sent outside the connection's goroutine.
	idle struct {
		sync.Mutex
		is bool
	}

	waking struct {
		sync.Mutex
		wake  chan struct{} // signals notifications; nil before the first. Never closed
		ended bool          // nothing is sent any more
	}
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{link: link{nc: nc}, srv: s, log: s.log.With("remote", nc.RemoteAddr().String())}
	c.ctx, c.cancel = context.WithCancelCause(s.base)
	return c
}

// run is the connection's goroutine.
func (c *conn) run() {
	defer c.srv.drop(c)
	defer c.endHelpers()
	defer c.cancel(errGone)
	defer func() { _ = c.nc.Close() }()
	// The last resort: panics while a message is handled are recovered in handle and do not end the connection.
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("panic in sql connection", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	defer func() {
		if c.session != nil {
			c.session.Close()
			if u, ok := c.session.(Undoer); ok && c.inside != nil {
				c.undone, c.kept = u.Undone()
			}
		}
	}()
	if !(&handshake{conn: c}).run() {
		c.linger()
		return
	}
	c.in.grow = c.session.Grow
	c.ready()
	for c.step() {
	}
	_ = c.out.Flush()
}

// step receives and handles one message. It returns false at the end of the connection.
func (c *conn) step() bool {
	if c.in.r.Buffered() == 0 {
		c.setIdle(true)
		// No further message has arrived: send what is buffered.
		if c.out.Flush() != nil {
			return false
		}
		c.rest(c.outside && !c.partway && c.copying == nil)
	}
	patience := c.session.IdleTimeout()
	if patience > 0 {
		c.deadline(time.Now().Add(patience))
	}
	typ, body, err := c.in.next(maxMessage)
	c.rest(false)
	c.setIdle(false)
	if patience > 0 {
		c.deadline(time.Time{})
	}
	if err == nil {
		if typ == 'X' {
			return false
		}
		defer c.giveBack()
		if typ == 'p' { // only during the login
			c.fatal(sqlstate.New(sqlstate.ProtocolViolation, "invalid frontend message type %d", typ))
			return false
		}
		c.partway = true
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
		e := sqlstate.New(sqlstate.ProgramLimitExceeded, "message of %d bytes is longer than the limit of %d",
			long.size, maxMessage)
		c.refuse(typ, e)
		return true
	case errors.As(err, &frame):
		c.fatal(sqlstate.New(sqlstate.ProtocolViolation, "%s", frame.what))
	case c.isClosing():
		c.fatal(errShutdown)
	case patience > 0 && errors.Is(err, os.ErrDeadlineExceeded):
		c.fatal(sqlstate.New(sqlstate.IdleInTransactionTimeout,
			"terminating connection due to idle-in-transaction timeout"))
	case !isEOF(err):
		c.log.Debug("sql connection lost", "err", err)
	}
	return false
}

// giveBack releases the memory of the last message.
func (c *conn) giveBack() {
	if c.in.held > 0 {
		c.session.Shrink(c.in.held)
		c.in.held = 0
	}
}

// handle runs one message. A panic becomes an error of that message.
func (c *conn) handle(typ byte, body []byte) (alive bool) {
	if c.discard && typ != 'S' {
		return true
	}
	if c.copying != nil && (typ == 'H' || typ == 'S') {
		return true // ignored while data is received
	}
	if typ == 'E' || typ == 'c' {
		c.session.Final(c.in.syncs())
	}
	// Bind, Close, Describe and Flush wait neither for the store nor for locks.
	ctx, stop := c.begin(c.ctx, strings.IndexByte("BCDH", typ) < 0)
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
		// If the context has ended, its cause is the reason, whatever err says.
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

// refuse answers a message with an error. In the extended protocol the following messages are discarded until Sync; a
// simple query ends here.
func (c *conn) refuse(typ byte, e *sqlstate.Error) {
	m := c.errorResponse("ERROR", e) // Fail may undo a change of the character set
	if c.session != nil {
		c.session.Fail(e)
	}
	if in := c.copying; in != nil {
		// What follows of the data is ignored. In the extended protocol it is discarded until Sync.
		in.portal.Close()
		if endCopy(c); in.simple {
			typ = 'Q'
		} else {
			typ = 'E'
		}
	}
	if c.resumed {
		c.resumed, typ = false, 'Q'
	}
	c.send(m)
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

func (c *conn) ready() {
	c.partway = false
	status := c.session.Status()
	if c.outside = status == 'I'; c.outside {
		c.sendNotifications()
	}
	c.send(&pgproto3.ReadyForQuery{TxStatus: status})
	_ = c.out.Flush()
}

// Notice implements Client.
func (c *conn) Notice(n *sqlstate.Error) {
	notice := pgproto3.NoticeResponse(*errorResponse("NOTICE", n))
	for _, text := range []*string{&notice.Message, &notice.Detail, &notice.Hint, &notice.Where} {
		*text = c.encodeAnyway(*text)
	}
	if n.Code == sqlstate.Warning || n.Code == sqlstate.NoActiveTransaction || n.Code == sqlstate.ActiveTransaction {
		notice.Severity, notice.SeverityUnlocalized = "WARNING", "WARNING"
	}
	c.send(&notice)
}

// ParameterStatus implements Client.
func (c *conn) ParameterStatus(name, value string) {
	c.send(&pgproto3.ParameterStatus{Name: name, Value: c.encodeAnyway(value)})
}

func errorResponse(severity string, e *sqlstate.Error) *pgproto3.ErrorResponse {
	// Some errors quote a value that the client sent.
	const longest = 16 << 10
	cut := func(s string) string {
		if len(s) > longest {
			s = strings.ToValidUTF8(s[:longest], "") + "..."
		}
		// A zero byte would end the field of the message.
		return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	}
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: string(e.Code),
		Message: cut(e.Message), Detail: cut(e.Detail), Hint: cut(e.Hint), Position: int32(e.Pos),
		Where: cut(e.Context), SchemaName: e.Object.Schema, TableName: e.Object.Table, ColumnName: e.Object.Column,
		ConstraintName: e.Object.Constraint}
}

func isEOF(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

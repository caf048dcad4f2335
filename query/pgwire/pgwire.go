// Package pgwire serves the PostgreSQL frontend/backend protocol, version 3 (PostgreSQL 15, chapter 55), on pgproto3.
// It knows the protocol and nothing of SQL: what statements mean is behind Handler, Session and Portal, which package
// query implements.
//
// One goroutine owns a connection and everything of its session. Two helpers of it live shorter: a flusher, so that a
// row never waits in the buffer for the next one, and, while a statement runs for long, a watcher that notices a client
// that has gone.
package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/divandb/divan/query/sqlstate"
)

// Limits of the protocol side. What a statement may cost is the session's business.
const (
	maxStartupPacket = 10_000   // as PostgreSQL
	maxAuthMessage   = 10_000   // a SASL message
	maxMessage       = 16 << 20 // any message after authentication
	flushRows        = 128      // rows between flushes; a write per row is 8 times slower
	flushBytes       = 64 << 10
	flushDelay       = 5 * time.Millisecond  // the longest a row waits in the buffer
	watchDelay       = 20 * time.Millisecond // statements faster than this are not watched for a client that has gone
	startupTimeout   = 10 * time.Second
	lingerTime       = time.Second // for a client that was refused to read why
	maxStarting      = 128         // connections in start-up; one more, and the oldest of them has to go
	adminSlots       = AdminConnections
	maxStartupTries  = 4 // SSLRequest, GSSEncRequest, start-up, and one to spare
)

// AdminConnections are those of MaxConnections that are kept for admins (PostgreSQL's superuser_reserved_connections).
const AdminConnections = 3

// MaxConnections is what Options.MaxConnections means.
func MaxConnections(option int) int {
	if option <= 0 {
		return 256
	}
	return option
}

// Options configure a Server. Handler is required.
type Options struct {
	Handler Handler
	// Credentials are the users who may log in by SCRAM-SHA-256; nil lets everybody in under the name they give (the
	// node does so only on loopback without any admin).
	Credentials Credentials
	// TLS, when not nil, answers SSLRequest with yes.
	TLS *tls.Config
	// RequireTLS refuses connections without TLS with 28000.
	RequireTLS bool
	// MaxConnections bounds the sessions; 0 is 256. Beyond it clients get 53300. The last few are for admins alone.
	// Connections that have not authenticated yet do not count: they have a bound and a deadline of their own.
	MaxConnections int
	// StartupTimeout is how long a client may take until it is logged in; 0 is 10 s. It is told 57014 then.
	StartupTimeout time.Duration
	Log            *slog.Logger
}

// Handler makes sessions. It is called from many goroutines.
type Handler interface {
	// Open begins a session after authentication. An error is sent as FATAL and the connection closed. Session and
	// Client are used by the connection's goroutine alone.
	Open(ctx context.Context, start Start, client Client) (Session, error)
}

// Start is what is known of a client at the beginning of its session.
type Start struct {
	User string
	// Authenticated is false when there are no credentials to check: User is then only what the client said.
	Authenticated bool
	Database      string // the user's name where the client named none, as in PostgreSQL
	// Settings are the other start-up parameters (application_name, client_encoding, options are split into them too).
	Settings map[string]string
	Remote   net.Addr
	PID      uint32
	TLS      bool
	Since    time.Time
}

// Client is the way for a session to say something beside the results. What is said is sent before the next result.
type Client interface {
	Notice(n *sqlstate.Error)
	ParameterStatus(name, value string)
	// Wake says that the session has notifications. They are sent when the client is outside of a transaction and no
	// statement runs. It does not wait. Any goroutine.
	Wake()
}

// Parameter is a setting reported to the client at the start.
type Parameter struct{ Name, Value string }

// Session is one client's statements, portals and transaction state. Methods are called by one goroutine, one at a
// time. Errors become an ErrorResponse (sqlstate.From), after which pgwire calls Fail.
type Session interface {
	// Parameters are reported once, before the first ReadyForQuery.
	Parameters() []Parameter
	// Status is the transaction status of ReadyForQuery, 'I', 'T' or 'E', which is sent next: what has changed of the
	// reported settings is told to the Client now.
	Status() byte
	// Notifications takes what has come for the client, oldest first. Any goroutine; it does not wait.
	Notifications() []Notification
	// IdleTimeout is for how long the client may be silent now; 0 is for ever. Then the connection ends with 25P03.
	IdleTimeout() time.Duration
	// Fail is told of every error sent: an open transaction becomes a failed one.
	Fail()
	// Sync ends what the extended protocol has open: outside a transaction block all portals are closed.
	Sync(ctx context.Context)
	// Close ends the session. It is called exactly once, also after a panic.
	Close()
	// Grow counts n more bytes of memory for a message, or fails; Shrink gives them back.
	Grow(n int64) error
	Shrink(n int64)

	// Split cuts the text of a simple query into its statements. An empty slice is an empty query.
	Split(ctx context.Context, query string) ([]Piece, error)
	// Simple prepares one statement of a simple query for running, in text format. The caller closes the portal.
	Simple(ctx context.Context, p Piece) (Portal, error)

	// Parse prepares a statement under a name ("" may be replaced, others not). types are the OIDs the client gave, 0
	// for unknown.
	Parse(ctx context.Context, name, query string, types []uint32) error
	// DescribeStatement gives the OIDs of the parameters and the columns, nil columns when the statement returns no
	// rows.
	DescribeStatement(ctx context.Context, name string) ([]uint32, []Column, error)
	// Bind makes a portal. The values are copies that the session may keep.
	Bind(ctx context.Context, b Binding) error
	// Portal finds a portal by its name.
	Portal(name string) (Portal, error)
	CloseStatement(name string)
	ClosePortal(name string)
}

// Piece is one statement of a simple query.
type Piece struct {
	Text string
	// Query and Offset say where Text stands in the whole query, for error positions.
	Query  string
	Offset int
}

// Binding is the content of a Bind message.
type Binding struct {
	Portal, Statement string
	ParamFormats      []int16 // none: all text; one: for all
	Params            [][]byte
	ResultFormats     []int16
}

// Column describes a result column.
type Column struct {
	Name string
	OID  uint32
	Size int16 // typlen
	Mod  int32 // typmod, -1 for none
	// Table is the OID of the relation that the column is of, and Number its number there; 0 for what is computed.
	Table  uint32
	Number uint16
}

// CopyOut says that a portal sends its rows by COPY TO STDOUT.
type CopyOut struct {
	Binary  bool
	Columns int
}

// ErrSuspended is returned by Next of a portal in a hurry that has no row for now: the call ends with PortalSuspended.
var ErrSuspended = errors.New("portal suspended")

// Portal is a statement that runs, bit by bit.
type Portal interface {
	// Columns is nil for a statement that returns no rows.
	Columns() []Column
	// Formats is one format code per column (0 text, 1 binary).
	Formats() []int16
	// Copy is nil but for COPY TO STDOUT.
	Copy() *CopyOut
	// Hurry is set when an Execute with a row limit has its first row: from then on a portal that would have to wait
	// for something to happen returns ErrSuspended from Next instead.
	Hurry(on bool)
	// Next moves to the next row: nil, io.EOF at the end (a statement without rows does its work here), or an error.
	// After io.EOF or an error it returns io.EOF.
	Next(ctx context.Context) error
	// Append adds column i of the current row to dst in the column's format, or reports NULL. For a COPY, Append with i
	// 0 adds one whole CopyData body.
	Append(dst []byte, i int) (_ []byte, null bool, err error)
	// Tag is the command tag once Next gave io.EOF, after rows rows of this execution.
	Tag(rows int64) string
	// Close frees the reads. It may be called twice.
	Close()
}

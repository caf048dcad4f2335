// Package pgwire serves the PostgreSQL frontend/backend protocol, version 3 (PostgreSQL 15, chapter 55), using
// pgproto3. It does not interpret SQL: statements are behind Handler, Session and Portal, which package query
// implements.
//
// One goroutine owns a connection and its session. It has two short-lived helpers: a flusher, so that a row never waits
// in the buffer for the next one, and, while a statement runs for long, a watcher that detects a client that has
// disconnected.
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

// Limits of the protocol. The session limits what a statement may cost.
const (
	maxStartupPacket = 10_000                // as in PostgreSQL
	maxAuthMessage   = 10_000                // a SASL message
	maxMessage       = 16 << 20              // any message after authentication
	lookRows         = 128                   // rows between looks for a cancelled statement
	flushBytes       = 32 << 10              // in the buffer; a write per row is 8 times slower
	flushDelay       = 5 * time.Millisecond  // the longest time that a row waits in the buffer
	watchDelay       = 20 * time.Millisecond // shorter statements are not watched for a client that has disconnected
	startupTimeout   = 10 * time.Second
	lingerTime       = time.Second // for a refused client to read the reason
	maxStarting      = 128         // connections in start-up; beyond it the oldest is ended
	adminSlots       = AdminConnections
	maxStartupTries  = 4 // SSLRequest, GSSEncRequest, start-up, and one to spare
)

// AdminConnections is how many of MaxConnections are reserved for admins (PostgreSQL's superuser_reserved_connections).
const AdminConnections = 3

// MaxConnections returns the number of connections that Options.MaxConnections stands for.
func MaxConnections(option int) int {
	if option <= 0 {
		return 256
	}
	return option
}

// Options configure a Server. Handler is required.
type Options struct {
	Handler Handler
	// Credentials are the users who may log in by SCRAM-SHA-256. nil accepts everyone under the name they give; the
	// node does that only on loopback without an admin.
	Credentials Credentials
	// TLS, if not nil, enables SSLRequest.
	TLS *tls.Config
	// RequireTLS refuses connections without TLS with 28000.
	RequireTLS bool
	// MaxConnections limits the sessions; 0 means 256. Further clients get 53300. The last few are reserved for admins.
	// Connections that have not authenticated yet do not count: they have a limit and a deadline of their own.
	MaxConnections int
	// StartupTimeout is how long a client may take to log in; 0 means 10 s. Then it gets 57014.
	StartupTimeout time.Duration
	Log            *slog.Logger
}

// Handler opens sessions. It must be safe for concurrent use.
type Handler interface {
	// Open begins a session after authentication. An error is sent as FATAL and the connection closed. Only the
	// connection's goroutine uses Session and Client, except for methods that say otherwise.
	Open(ctx context.Context, start Start, client Client) (Session, error)
}

// Start describes a client at the beginning of its session.
type Start struct {
	User string
	// Authenticated is false if there are no credentials to check. User is then only the client's claim.
	Authenticated bool
	Database      string // the user's name if the client named none, as in PostgreSQL
	// Settings are the other start-up parameters (application_name, client_encoding). The options parameter is split
	// into them.
	Settings map[string]string
	Remote   net.Addr
	Local    net.Addr // where the server took the connection
	PID      uint32
	TLS      bool
	Since    time.Time
}

// Client lets a session send messages besides the results. They are sent before the next result.
type Client interface {
	Notice(n *sqlstate.Error)
	ParameterStatus(name, value string)
	// SetEncoding sets the character set of the texts in the client's messages, except values, which the session
	// converts. nil is UTF-8.
	SetEncoding(e Encoding)
	// Wake says that the session has notifications. They are sent when the client is outside a transaction and no
	// statement runs. It does not block and may be called from any goroutine.
	Wake()
}

// Encoding is a character set.
type Encoding interface {
	// Decode returns a text in UTF-8. Encode appends a text that is UTF-8. They fail for characters that one of the
	// sets does not have.
	Decode(text string) (string, error)
	Encode(dst []byte, text string) ([]byte, error)
}

// Parameter is a setting reported to the client at the start.
type Parameter struct{ Name, Value string }

// Session holds one client's statements, portals and transaction state. Its methods are called one at a time, from one
// goroutine unless they say otherwise. Errors become an ErrorResponse (sqlstate.From), after which pgwire calls Fail.
type Session interface {
	// Parameters returns the settings to report once, before the first ReadyForQuery.
	Parameters() []Parameter
	// Status returns the transaction status for ReadyForQuery, 'I', 'T' or 'E', which is sent next. Changes of reported
	// settings must be passed to the Client now.
	Status() byte
	// Notifications removes and returns the client's notifications, oldest first. It does not block and may be called
	// from any goroutine.
	Notifications() []Notification
	// IdleTimeout returns how long the client may now be silent; 0 means for ever. After that the connection ends with
	// 25P03.
	IdleTimeout() time.Duration
	// Fail is called after every error sent, with that error. An open transaction becomes a failed one.
	Fail(e *sqlstate.Error)
	// Sync ends what the extended protocol has open. Outside a transaction block it closes all portals, and calls
	// Commit.
	Sync(ctx context.Context) error
	// Commit ends the implicit transaction of the statements since the last ReadyForQuery, outside a block.
	Commit(ctx context.Context) error
	// Final is called before a statement is run. It tells whether Commit or Sync is known to follow directly.
	Final(is bool)
	// Close ends the session. It is called exactly once, also after a panic.
	Close()
	// Grow counts n more bytes of memory for a message, or fails. Shrink releases them.
	Grow(n int64) error
	Shrink(n int64)

	// Split splits the text of a simple query into its statements. It returns none for an empty query.
	Split(ctx context.Context, query string) ([]Piece, error)
	// Simple prepares one statement of a simple query to run, in text format. The caller closes the portal.
	Simple(ctx context.Context, p Piece) (Portal, error)

	// Parse prepares a statement under a name. Only the name "" may be reused. types are the OIDs that the client sent,
	// 0 for unknown.
	Parse(ctx context.Context, name, query string, types []uint32) error
	// DescribeStatement returns the OIDs of the parameters, and the columns; the columns are nil if the statement
	// returns no rows.
	DescribeStatement(ctx context.Context, name string) ([]uint32, []Column, error)
	// Bind makes a portal. The session may keep the values of b.
	Bind(ctx context.Context, b Binding) error
	// Portal returns the portal of a name.
	Portal(name string) (Portal, error)
	CloseStatement(name string)
	ClosePortal(name string)
}

// Undoer is an optional interface of a Session, for Run.
type Undoer interface {
	// Undone is called after Close. It reports whether statements that were done had written what is undone now,
	// although no ROLLBACK asked for that, and whether others had written what is kept.
	Undone() (undone, kept bool)
}

// Piece is one statement of a simple query.
type Piece struct {
	Text string
	// Query and Offset locate Text in the whole query, for the positions of errors.
	Query  string
	Offset int
}

// Binding is the content of a Bind message.
type Binding struct {
	Portal, Statement string
	ParamFormats      []int16 // none: all text; one: it applies to all
	Params            [][]byte
	ResultFormats     []int16
}

// Column describes a result column.
type Column struct {
	Name string
	OID  uint32
	Size int16 // typlen
	Mod  int32 // typmod, -1 for none
	// Table is the OID of the column's relation, and Number its number there; 0 for a computed column.
	Table  uint32
	Number uint16
}

// CopyOut describes a portal that sends its rows by COPY TO STDOUT.
type CopyOut struct {
	Binary  bool
	Columns int
}

// CopyIn collects what a client sends for COPY FROM STDIN.
type CopyIn interface {
	// Begin is called before the client is asked for data. It returns an error if none may be written.
	Begin() error
	// Data adds the body of a CopyData message, which it copies. An error ends the COPY.
	Data(ctx context.Context, data []byte) error
	// Format returns whether the format is binary, and the number of columns.
	Format() (binary bool, columns int)
}

// ErrSuspended is returned by Next of a portal with NoWait set that has no row now. The call ends with PortalSuspended.
var ErrSuspended = errors.New("portal suspended")

// Portal is a running statement.
type Portal interface {
	// Columns returns nil for a statement that returns no rows.
	Columns() []Column
	// Formats returns one format code per column (0 text, 1 binary).
	Formats() []int16
	// Copy returns nil except for COPY TO STDOUT.
	Copy() *CopyOut
	// CopyIn returns nil except for COPY FROM STDIN. Next is called when the client has sent all data.
	CopyIn() CopyIn
	// NoWait(true) is called when an Execute with a row limit has its first row. From then on Next returns ErrSuspended
	// instead of waiting for something to happen.
	NoWait(on bool)
	// Next moves to the next row. It returns nil, io.EOF at the end (a statement without rows does its work here), or
	// an error. After io.EOF or an error it returns io.EOF.
	Next(ctx context.Context) error
	// Settled reports whether the statement has been committed. Its rows are then sent even if it is cancelled.
	Settled() bool
	// Append appends column i of the current row to dst in the column's format, or reports NULL. For a COPY, Append
	// with i = 0 appends a whole CopyData body.
	Append(dst []byte, i int) (_ []byte, null bool, err error)
	// Tag returns the command tag after Next has returned io.EOF. rows is the number of rows of this execution.
	Tag(rows int64) string
	// Close ends the reads. It may be called twice.
	Close()
}

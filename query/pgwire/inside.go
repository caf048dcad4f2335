package pgwire

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/sqlstate"
)

// Inside describes a user whom the node itself has authenticated, and for whom it runs SQL.
type Inside struct {
	User string
	// Authenticated is false if nobody has to log in. Admin says whether the user may take one of the last connections.
	Authenticated, Admin bool
	Database             string
	// Remote and Local are the addresses of the connection that the user came by, and TLS whether it is secure.
	Remote, Local net.Addr
	TLS           bool
	// Settings are start-up parameters, such as application_name.
	Settings map[string]string
}

// Results takes what a text of SQL returns, in this order for each statement. An error ends the session.
type Results interface {
	// Columns begins a result with rows.
	Columns(list []Column) error
	// Row takes a row in text format; nil is NULL. The values are only valid until it returns.
	Row(values [][]byte) error
	// Done ends a statement, with its command tag.
	Done(tag string) error
	Notice(e *sqlstate.Error) error
}

// Run runs a text of SQL in a session of its own, which it ends. The session counts as a connection, and is listed,
// limited and cancelled like any other. Run returns the error of a statement as a *sqlstate.Error, and what the text
// did not commit itself is then undone. If statements had written that, a last notice says so, with the code
// sqlstate.TransactionRollback. If the last statement only changes the session, a notice says that it ends. When ctx
// ends, the running statement is cancelled. The session has ended when Run returns. Reading does not run ahead of the
// results.
func (s *Server) Run(ctx context.Context, who Inside, text string, to Results) error {
	if strings.Contains(who.Database, "\x00") { // the protocol ends texts with it
		return sqlstate.New(sqlstate.InvalidCatalogName, "database %q does not exist", who.Database)
	}
	if err := sqlstate.CheckUTF8(text); err != nil {
		return err
	}
	ours, theirs := net.Pipe()
	c := s.admit(insideConn{theirs, who.Remote, who.Local})
	if c == nil {
		_ = ours.Close()
		return errShutdown
	}
	c.inside, c.secure = &who, who.TLS
	ended := make(chan struct{}) // closed when the connection's goroutine has ended
	go func() {
		defer close(ended)
		c.run()
	}()
	stop := context.AfterFunc(ctx, func() { _ = ours.Close() })
	last := &lastTag{Results: to}
	err := converse(ours, who, text, last)
	stop()
	_ = ours.Close() // which cancels what runs
	<-ended
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case c.undone:
		err = cmp.Or(err, to.Notice(undone(err != nil, c.kept)))
	case err == nil && slices.Contains(ofSession, last.tag):
		err = to.Notice(sqlstate.New(sqlstate.Warning, "%s had no effect: each text runs in a session of its own, "+
			"which ends with it. Send it in one text with the statements that it is for.", last.tag))
	}
	return err
}

// ofSession are the tags of statements that change nothing but the rest of their session. Others of the kind, such as
// COMMIT and DEALLOCATE, undo what they did.
var ofSession = []string{"BEGIN", "START TRANSACTION", "SAVEPOINT", "SET", "PREPARE", "DECLARE CURSOR", "LISTEN"}

// lastTag passes results on, and keeps the tag of the last statement.
type lastTag struct {
	Results
	tag string
}

// Done implements Results.
func (l *lastTag) Done(tag string) error {
	l.tag = tag
	return l.Results.Done(tag)
}

// undone is the notice that what statements have written is not stored, because of an error or because the transaction
// was not committed. kept says that there was another transaction before, which was.
func undone(failed, kept bool) *sqlstate.Error {
	text := "The transaction was not committed, so it is undone: nothing that it wrote is stored. Each text runs in " +
		"a session of its own, which ends with it. To store something, end the same text with COMMIT."
	switch {
	case failed && kept:
		text = "What was written after the last COMMIT is undone."
	case failed:
		text = "Nothing that was written is stored: the statements of a text are one transaction, which was undone " +
			"as a whole."
	}
	if kept {
		text += " What was committed before is stored."
	}
	return sqlstate.New(sqlstate.TransactionRollback, "%s", text)
}

// converse sends the text of a user over a connection and passes its results on.
func converse(ours net.Conn, who Inside, text string, to Results) error {
	client := pgproto3.NewFrontend(ours, ours)
	params := map[string]string{"user": who.User, "database": who.Database}
	maps.Copy(params, who.Settings)
	client.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: params})
	err := client.Flush()
	if err == nil {
		err = receive(client, to) // until the session is ready
	}
	if err == nil {
		client.Send(&pgproto3.Query{String: text})
		if err = client.Flush(); err == nil {
			err = receive(client, to)
		}
	}
	return err
}

// insideConn is one end of a pipe, with the addresses of a user's own connection.
type insideConn struct {
	net.Conn
	remote, local net.Addr
}

func (c insideConn) RemoteAddr() net.Addr { return c.remote }
func (c insideConn) LocalAddr() net.Addr  { return c.local }

var errCopyInside = sqlstate.New(sqlstate.FeatureNotSupported,
	"COPY FROM STDIN and COPY TO STDOUT are not supported here").
	WithHint("Use psql's \\copy, or SELECT.")

// receive passes on messages up to the next ReadyForQuery. It returns the error of a statement, or one of a Results.
func receive(client *pgproto3.Frontend, to Results) error {
	var failed error
	for {
		m, err := client.Receive()
		if err != nil {
			return errors.Join(failed, err)
		}
		switch m := m.(type) {
		case *pgproto3.ReadyForQuery:
			return failed
		case *pgproto3.RowDescription:
			list := make([]Column, len(m.Fields))
			for i, f := range m.Fields {
				list[i] = Column{Name: string(f.Name), OID: f.DataTypeOID, Size: f.DataTypeSize, Mod: f.TypeModifier,
					Table: f.TableOID, Number: f.TableAttributeNumber}
			}
			err = to.Columns(list)
		case *pgproto3.DataRow:
			err = to.Row(m.Values)
		case *pgproto3.CommandComplete:
			err = to.Done(string(m.CommandTag))
		case *pgproto3.NoticeResponse:
			e := pgproto3.ErrorResponse(*m)
			err = to.Notice(errorOf(&e))
		case *pgproto3.ErrorResponse:
			e := errorOf(m)
			if m.Severity == "FATAL" {
				return e
			}
			failed = e
		case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse:
			return errCopyInside
		}
		if err != nil {
			return err
		}
	}
}

func errorOf(m *pgproto3.ErrorResponse) *sqlstate.Error {
	return &sqlstate.Error{Code: sqlstate.Code(m.Code), Message: m.Message, Detail: m.Detail, Hint: m.Hint,
		Pos: int(m.Position), Context: m.Where}
}

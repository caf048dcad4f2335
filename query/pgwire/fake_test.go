package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
	"github.com/divandb/divan/query/sqlstate"
)

// fake is a Handler whose statements are words: "rows N", "wait" (until cancelled), "panic", "fail", "begin", "commit",
// "drip N" (a row every 10 ms), "none".
type fake struct {
	open   atomic.Int32 // sessions
	closed atomic.Int32
}

func (f *fake) Open(_ context.Context, start pgwire.Start, _ pgwire.Client) (pgwire.Session, error) {
	if start.Database == "forbidden" {
		return nil, sqlstate.New(sqlstate.InsufficientPrivilege, "permission denied for database")
	}
	f.open.Add(1)
	return &fakeSession{f: f, start: start, status: 'I', statements: map[string]string{},
		portals: map[string]*fakePortal{}}, nil
}

type fakeSession struct {
	f          *fake
	start      pgwire.Start
	status     byte
	idle       time.Duration
	statements map[string]string
	portals    map[string]*fakePortal
}

func (s *fakeSession) Parameters() []pgwire.Parameter {
	return []pgwire.Parameter{{Name: "server_version", Value: "15.8"}, {Name: "client_encoding", Value: "UTF8"}}
}
func (s *fakeSession) Status() byte { return s.status }

func (s *fakeSession) IdleTimeout() time.Duration { return s.idle }
func (s *fakeSession) Fail(*sqlstate.Error) {
	if s.status == 'T' {
		s.status = 'E'
	}
}
func (s *fakeSession) Sync(context.Context) error {
	if s.status == 'I' {
		clear(s.portals)
	}
	return nil
}
func (p *fakePortal) CopyIn() pgwire.CopyIn { return nil }

func (s *fakeSession) Commit(context.Context) error { return nil }
func (s *fakeSession) Final(bool)                   {}
func (s *fakeSession) Grow(int64) error             { return nil }
func (s *fakeSession) Shrink(int64)                 {}
func (s *fakeSession) Close()                       { s.f.closed.Add(1) }

func (s *fakeSession) Notifications() []pgwire.Notification { return nil }

func (s *fakeSession) Split(_ context.Context, query string) ([]pgwire.Piece, error) {
	var out []pgwire.Piece
	for _, p := range strings.Split(query, ";") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, pgwire.Piece{Text: p, Query: query})
		}
	}
	return out, nil
}

func (s *fakeSession) Simple(_ context.Context, p pgwire.Piece) (pgwire.Portal, error) {
	return s.portal(p.Text)
}

func (s *fakeSession) Parse(_ context.Context, name, query string, _ []uint32) error {
	if query == "fail at parse" {
		return sqlstate.New(sqlstate.SyntaxError, "syntax error").At(3)
	}
	s.statements[name] = query
	return nil
}

func (s *fakeSession) DescribeStatement(_ context.Context, name string) ([]uint32, []pgwire.Column, error) {
	if s.statements[name] == "none" {
		return nil, nil, nil
	}
	return []uint32{25}, columns, nil
}

var columns = []pgwire.Column{{Name: "n", OID: 20, Size: 8, Mod: -1}}

func (s *fakeSession) Bind(_ context.Context, b pgwire.Binding) error {
	text, ok := s.statements[b.Statement]
	if !ok {
		return sqlstate.New(sqlstate.InvalidStatementName, "no such statement")
	}
	p, err := s.portal(text)
	if err != nil {
		return err
	}
	s.portals[b.Portal] = p
	return nil
}

func (s *fakeSession) Portal(name string) (pgwire.Portal, error) {
	if p := s.portals[name]; p != nil {
		return p, nil
	}
	return nil, sqlstate.New(sqlstate.InvalidCursorName, "no such portal")
}
func (s *fakeSession) CloseStatement(name string) { delete(s.statements, name) }
func (s *fakeSession) ClosePortal(name string)    { delete(s.portals, name) }

func (s *fakeSession) portal(text string) (*fakePortal, error) {
	p := &fakePortal{s: s, text: text}
	if n, ok := strings.CutPrefix(text, "rows "); ok {
		p.left, _ = strconv.Atoi(n)
	}
	if n, ok := strings.CutPrefix(text, "drip "); ok {
		p.left, _ = strconv.Atoi(n)
		p.pause = 10 * time.Millisecond
	}
	if text == "fail" {
		return nil, sqlstate.New(sqlstate.DivisionByZero, "division by zero").WithHint("do not").At(6)
	}
	return p, nil
}

type fakePortal struct {
	s     *fakeSession
	text  string
	left  int
	n     int
	pause time.Duration
}

func (p *fakePortal) Columns() []pgwire.Column {
	switch p.text {
	case "none", "begin", "commit":
		return nil
	}
	return columns
}
func (p *fakePortal) Formats() []int16      { return make([]int16, len(p.Columns())) }
func (p *fakePortal) Copy() *pgwire.CopyOut { return nil }
func (p *fakePortal) Close()                {}
func (p *fakePortal) NoWait(bool)           {}
func (p *fakePortal) Settled() bool         { return false }
func (p *fakePortal) Tag(rows int64) string { return fmt.Sprintf("SELECT %d", rows) }
func (p *fakePortal) Append(dst []byte, _ int) ([]byte, bool, error) {
	return strconv.AppendInt(dst, int64(p.n), 10), false, nil
}

func (p *fakePortal) Next(ctx context.Context) error {
	switch p.text {
	case "panic":
		panic("as asked")
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	case "begin":
		p.s.status = 'T'
		return io.EOF
	case "commit":
		p.s.status = 'I'
		return io.EOF
	case "broken":
		return errors.New("some trouble inside")
	}
	if p.left == 0 {
		return io.EOF
	}
	if p.pause > 0 {
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.left--
	p.n++
	return nil
}

// serve starts a server with the fake.
func serve(t testing.TB, f *fake, change func(*pgwire.Options)) (*pgwire.Server, string) {
	t.Helper()
	opts := pgwire.Options{Handler: f, Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&opts)
	}
	srv := pgwire.NewServer(opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; !errors.Is(err, pgwire.ErrServerClosed) {
			t.Errorf("serve: %v", err)
		}
		if f.open.Load() != f.closed.Load() {
			t.Errorf("%d sessions opened, %d closed", f.open.Load(), f.closed.Load())
		}
	})
	return srv, l.Addr().String()
}

// client is a raw protocol client.
type client struct {
	t    testing.TB
	nc   net.Conn
	fe   *pgproto3.Frontend
	pid  uint32
	key  []byte
	last *pgproto3.ErrorResponse
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	return &client{t: t, nc: nc, fe: pgproto3.NewFrontend(nc, nc)}
}

// login starts a session without a password.
func login(t testing.TB, addr string) *client {
	t.Helper()
	c := dial(t, addr)
	c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann", "database": "db"}})
	if got := c.until('Z'); got != "R S S K Z:I" {
		t.Fatalf("start-up gave %s", got)
	}
	return c
}

func (c *client) send(msgs ...pgproto3.FrontendMessage) {
	c.t.Helper()
	for _, m := range msgs {
		c.fe.Send(m)
	}
	if err := c.fe.Flush(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() pgproto3.BackendMessage {
	c.t.Helper()
	m, err := c.fe.Receive()
	if err != nil {
		c.t.Fatalf("receive: %v", err)
	}
	return m
}

// until reads up to a message of the given type and returns a summary: one letter per message, runs of rows counted,
// errors with their code.
func (c *client) until(last byte) string {
	c.t.Helper()
	var out []string
	rows := 0
	for {
		m := c.receive()
		if _, ok := m.(*pgproto3.DataRow); ok {
			rows++
			continue
		}
		if rows > 0 {
			out, rows = append(out, fmt.Sprintf("D*%d", rows)), 0
		}
		raw, err := m.Encode(nil)
		if err != nil {
			c.t.Fatal(err)
		}
		word := string(raw[0])
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			word = "E:" + m.Code
			e := *m
			c.last = &e
		case *pgproto3.ReadyForQuery:
			word = "Z:" + string(m.TxStatus)
		case *pgproto3.CommandComplete:
			word = "C:" + string(m.CommandTag)
		case *pgproto3.BackendKeyData:
			c.pid, c.key = m.ProcessID, append([]byte(nil), m.SecretKey...)
		}
		out = append(out, word)
		if raw[0] == last {
			return strings.Join(out, " ")
		}
	}
}

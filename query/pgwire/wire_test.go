package pgwire_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
)

func query(text string) pgproto3.FrontendMessage { return &pgproto3.Query{String: text} }

func TestConn_Messages(t *testing.T) {
	parse := func(name, text string) pgproto3.FrontendMessage { return &pgproto3.Parse{Name: name, Query: text} }
	bind := func(portal, stmt string) pgproto3.FrontendMessage {
		return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: stmt}
	}
	execute := func(portal string, max uint32) pgproto3.FrontendMessage {
		return &pgproto3.Execute{Portal: portal, MaxRows: max}
	}
	sync := &pgproto3.Sync{}
	for _, c := range []struct {
		name string
		send []pgproto3.FrontendMessage
		want string
	}{
		{"simple", []pgproto3.FrontendMessage{query("rows 3")}, "T D*3 C:SELECT 3 Z:I"},
		{"two statements", []pgproto3.FrontendMessage{query("rows 1; rows 2")},
			"T D*1 C:SELECT 1 T D*2 C:SELECT 2 Z:I"},
		{"empty", []pgproto3.FrontendMessage{query(" ; ")}, "I Z:I"},
		{"no columns", []pgproto3.FrontendMessage{query("none")}, "C:SELECT 0 Z:I"},
		{"an error ends the query", []pgproto3.FrontendMessage{query("rows 1; fail; rows 2")},
			"T D*1 C:SELECT 1 E:22012 Z:I"},
		{"an error fails the transaction", []pgproto3.FrontendMessage{query("begin; fail")}, "C:SELECT 0 E:22012 Z:E"},
		{"a panic is an error", []pgproto3.FrontendMessage{query("panic")}, "T E:XX000 Z:I"},
		{"an internal error", []pgproto3.FrontendMessage{query("broken")}, "T E:XX000 Z:I"},
		{"extended",
			[]pgproto3.FrontendMessage{parse("", "rows 2"), bind("", ""), &pgproto3.Describe{ObjectType: 'P'},
				execute("", 0), sync},
			"1 2 T D*2 C:SELECT 2 Z:I"},
		{"describe statement",
			[]pgproto3.FrontendMessage{parse("s", "rows 2"), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync},
			"1 t T Z:I"},
		{"describe no rows",
			[]pgproto3.FrontendMessage{parse("s", "none"), &pgproto3.Describe{ObjectType: 'S', Name: "s"}, sync},
			"1 t n Z:I"},
		{"row limit",
			[]pgproto3.FrontendMessage{parse("", "rows 5"), bind("p", ""), execute("p", 2), execute("p", 2),
				execute("p", 2), sync},
			"1 2 D*2 s D*2 s D*1 C:SELECT 1 Z:I"},
		{"row limit met exactly",
			[]pgproto3.FrontendMessage{parse("", "rows 2"), bind("p", ""), execute("p", 2), execute("p", 2), sync},
			"1 2 D*2 s C:SELECT 0 Z:I"},
		{"error until sync",
			[]pgproto3.FrontendMessage{parse("", "fail at parse"), bind("", ""), execute("", 0), query("rows 1"), sync},
			"E:42601 Z:I"},
		{"portals end at sync",
			[]pgproto3.FrontendMessage{parse("", "rows 5"), bind("p", ""), sync, execute("p", 0), sync}, "1 2 Z:I"},
		{"flush", []pgproto3.FrontendMessage{parse("", "rows 1"), &pgproto3.Flush{}, sync}, "1 Z:I"},
		{"close", []pgproto3.FrontendMessage{&pgproto3.Close{ObjectType: 'S', Name: "nope"}, sync}, "3 Z:I"},
		{"a panic until sync",
			[]pgproto3.FrontendMessage{parse("", "panic"), bind("", ""), execute("", 0), execute("", 0), sync},
			"1 2 E:XX000 Z:I"},
		{"function call", []pgproto3.FrontendMessage{&pgproto3.FunctionCall{Function: 1}}, "E:0A000 Z:I"},
		{"copy data out of place",
			[]pgproto3.FrontendMessage{&pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyDone{}, query("rows 1")},
			"T D*1 C:SELECT 1 Z:I"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, addr := serve(t, &fake{}, nil)
			conn := login(t, addr)
			conn.send(c.send...)
			if got := conn.until('Z'); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.name == "portals end at sync" {
				if got := conn.until('Z'); got != "E:34000 Z:I" {
					t.Errorf("then got %s", got)
				}
			}
			// Whatever it was, the connection must continue.
			conn.send(&pgproto3.Sync{})
			conn.until('Z')
			conn.send(query("rows 1"))
			if got := conn.until('Z'); !strings.HasPrefix(got, "T D*1 C:SELECT 1") {
				t.Errorf("afterwards got %s", got)
			}
		})
	}
}

func TestConn_ErrorFields(t *testing.T) {
	_, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	c.send(query("fail"))
	c.until('Z')
	if e := c.last; e.Severity != "ERROR" || e.SeverityUnlocalized != "ERROR" || e.Hint != "do not" ||
		e.Position != 7 || e.Message != "division by zero" {
		t.Errorf("error response %+v", e)
	}
}

func TestServer_Startup(t *testing.T) {
	raw := func(code uint32, rest string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
		return append(binary.BigEndian.AppendUint32(b, code), rest...)
	}
	params := "user\x00ann\x00database\x00db\x00\x00"
	for _, c := range []struct {
		name string
		send []byte
		want string // beginning of the answer
	}{
		{"3.0", raw(3<<16, params), "R"},
		{"3.2", raw(3<<16|2, params), "R"},
		{"a newer minor version", raw(3<<16|9999, params), "v"},
		{"an unknown protocol option", raw(3<<16, "user\x00ann\x00_pq_.foo\x001\x00\x00"), "v"},
		{"2.0", raw(2<<16, params), "E"},
		{"no user", raw(3<<16, "database\x00db\x00\x00"), "E"},
		{"no parameters", raw(3<<16, "\x00"), "E"},
		{"not terminated", raw(3<<16, "user\x00ann"), "E"},
		{"too long", binary.BigEndian.AppendUint32(nil, 1<<30), "E"},
		{"too short", binary.BigEndian.AppendUint32(nil, 4), "E"},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "E"},
		{"forbidden", raw(3<<16, "user\x00ann\x00database\x00forbidden\x00\x00"), "R"},
		{"SSLRequest", raw(80877103, ""), "N"},
		{"GSSEncRequest", raw(80877104, ""), "N"},
		{"cancel of nothing", raw(80877102, "\x00\x00\x00\x01\x00\x00\x00\x02"), ""},
		{"replication", raw(3<<16, "user\x00ann\x00replication\x00database\x00\x00"), "E"},
		{"bad options", raw(3<<16, "user\x00ann\x00options\x00-x\x00\x00"), "R"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, addr := serve(t, &fake{}, nil)
			conn := dial(t, addr)
			if _, err := conn.nc.Write(c.send); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1)
			n, _ := io.ReadFull(conn.nc, b)
			if got := string(b[:n]); got != c.want {
				t.Errorf("answered %q, want %q", got, c.want)
			}
			login(t, addr).send(query("rows 1"))
		})
	}
}

func TestConn_StartupOptions(t *testing.T) {
	f := &fake{}
	var got pgwire.Start
	_, addr := serve(t, f, func(o *pgwire.Options) { o.Handler = opener{f, &got} })
	c := dial(t, addr)
	c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{
		"user": "ann", "options": `-c statement_timeout=5s --search-path=a\ b -ctimezone=UTC`,
		"application_name": "x"}})
	c.until('Z')
	want := map[string]string{"statement_timeout": "5s", "search_path": "a b", "timezone": "UTC",
		"application_name": "x"}
	for k, v := range want {
		if got.Settings[k] != v {
			t.Errorf("%s = %q, want %q", k, got.Settings[k], v)
		}
	}
	if got.Database != "ann" {
		t.Errorf("database %q", got.Database)
	}
}

type opener struct {
	*fake
	start *pgwire.Start
}

func (o opener) Open(ctx context.Context, s pgwire.Start, c pgwire.Client) (pgwire.Session, error) {
	*o.start = s
	return o.fake.Open(ctx, s, c)
}

func TestServer_Cancel(t *testing.T) {
	_, addr := serve(t, &fake{}, nil)
	c := dial(t, addr)
	c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}})
	c.until('Z')
	cancel := func(key []byte) {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		b, err := (&pgproto3.CancelRequest{ProcessID: c.pid, SecretKey: key}).Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
		_, _ = io.ReadAll(nc) // the server closes when it is done
	}
	c.send(query("wait"))
	wrong := append([]byte(nil), c.key...)
	wrong[0] ^= 1
	cancel(wrong)
	_ = c.nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if m, err := c.fe.Receive(); err == nil {
		if _, ok := m.(*pgproto3.RowDescription); !ok {
			t.Fatalf("a wrong key gave %T", m)
		}
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(5 * time.Second))
	// The row description may have been read already.
	cancel(c.key)
	if got := c.until('Z'); !strings.HasSuffix(got, "E:57014 Z:I") {
		t.Errorf("cancelled: %s", got)
	}
	c.send(query("rows 1"))
	if got := c.until('Z'); got != "T D*1 C:SELECT 1 Z:I" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestConn_RowsDoNotWait checks that a row reaches the client long before the next one exists.
func TestConn_RowsDoNotWait(t *testing.T) {
	_, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	c.send(query("drip 20"))
	began := time.Now()
	for {
		if _, ok := c.receive().(*pgproto3.DataRow); ok {
			break
		}
	}
	if d := time.Since(began); d > 120*time.Millisecond {
		t.Errorf("the first row took %v", d)
	}
	c.until('Z')
}

// TestConn_ClientGone checks that the statement of a client that disconnects is cancelled.
func TestConn_ClientGone(t *testing.T) {
	f := &fake{}
	_, addr := serve(t, f, nil)
	c := login(t, addr)
	c.send(query("wait"))
	time.Sleep(50 * time.Millisecond) // longer than watchDelay
	_ = c.nc.Close()
	for range 100 {
		if f.closed.Load() == 1 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("the session outlived its client")
}

// TestConn_PipelinedDuringRun checks that messages that arrive while a statement runs are not lost.
func TestConn_PipelinedDuringRun(t *testing.T) {
	_, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	c.send(query("drip 10"))
	time.Sleep(40 * time.Millisecond)
	c.send(query("rows 2"))
	if got := c.until('Z') + " " + c.until('Z'); got != "T D*10 C:SELECT 10 Z:I T D*2 C:SELECT 2 Z:I" {
		t.Errorf("got %s", got)
	}
}

func TestServer_Shutdown(t *testing.T) {
	srv, addr := serve(t, &fake{}, nil)
	idle, busy := login(t, addr), login(t, addr)
	busy.send(query("wait"))
	if _, ok := busy.receive().(*pgproto3.RowDescription); !ok {
		t.Fatal("no row description")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*client{"idle": idle, "busy": busy} {
		if got := c.until('E'); got != "E:57P01" || c.last.Severity != "FATAL" {
			t.Errorf("%s connection got %s (%s)", name, got, c.last.Severity)
		}
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Error("still listening")
	}
}

// A statement that ends soon is answered before its connection ends.
func TestServer_Shutdown_finishes(t *testing.T) {
	srv, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	c.send(query("drip 10"))
	if _, ok := c.receive().(*pgproto3.RowDescription); !ok {
		t.Fatal("no row description")
	}
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ended <- srv.Shutdown(ctx)
	}()
	if got := c.until('Z'); got != "D*10 C:SELECT 10 Z:I" {
		t.Errorf("got %s", got)
	}
	if got := c.until('E'); got != "E:57P01" || c.last.Severity != "FATAL" {
		t.Errorf("got %s (%s)", got, c.last.Severity)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A client that reads a portal before its Sync is in a transaction, and can end it.
func TestServer_Shutdown_partway(t *testing.T) {
	srv, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	c.send(&pgproto3.Parse{Query: "drip 10"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Flush{})
	if got := c.until('C'); got != "1 2 D*10 C:SELECT 10" {
		t.Errorf("got %s", got)
	}
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		ended <- srv.Shutdown(ctx)
	}()
	for { // until it shuts down
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			break
		}
		conn.Close()
	}
	c.send(&pgproto3.Sync{})
	if got := c.until('Z'); got != "Z:I" {
		t.Errorf("got %s", got)
	}
	if got := c.until('E'); got != "E:57P01" {
		t.Errorf("got %s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestServer_TooMany(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) { o.MaxConnections = 2 })
	login(t, addr)
	login(t, addr)
	c := dial(t, addr)
	c.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}})
	if got := c.until('E'); got != "E:53300" {
		t.Errorf("got %s", got)
	}
}

// TestConn_LongMessage checks that a message over the limit is skipped and the connection continues.
func TestConn_LongMessage(t *testing.T) {
	_, addr := serve(t, &fake{}, nil)
	c := login(t, addr)
	go func() {
		// The client may be slower than the answer.
		_, _ = c.nc.Write(append([]byte{'Q'}, binary.BigEndian.AppendUint32(nil, 17<<20)...))
		chunk := make([]byte, 1<<20)
		for range 16 {
			_, _ = c.nc.Write(chunk)
		}
		_, _ = c.nc.Write(chunk[:len(chunk)-4])
	}()
	if got := c.until('Z'); got != "E:54000 Z:I" {
		t.Errorf("got %s", got)
	}
	c.send(query("rows 1"))
	if got := c.until('Z'); got != "T D*1 C:SELECT 1 Z:I" {
		t.Errorf("afterwards: %s", got)
	}
}

// TestConn_Malformed checks that a message that cannot be decoded fails alone.
func TestConn_Malformed(t *testing.T) {
	for _, c := range []struct{ typ, body, want string }{
		{"Q", "no terminator", "E:08P01 Z:I"},
		{"P", "x", "E:08P01"},
		{"B", "\x00\x00\x00\x01", "E:08P01"},
		{"D", "", "E:08P01"},
		{"D", "X\x00", "E:08P01"},
		{"E", "\x00", "E:08P01"},
		{"C", "Zx\x00", "E:08P01"},
		{"P", "\x00rows 1\x00\x00\x00x", "E:08P01"},
		{"B", "\x00\x00\x00\x00\x00\x00\x00\x00x", "E:08P01"},
		{"E", "\x00\x00\x00\x00\x00x", "E:08P01"},
		{"B", "\x00\x00\x00\x01\x00\x07\x00\x00\x00\x00", "E:26000"},
	} {
		t.Run(c.typ+c.body, func(t *testing.T) {
			_, addr := serve(t, &fake{}, nil)
			conn := login(t, addr)
			msg := append([]byte(c.typ), binary.BigEndian.AppendUint32(nil, uint32(4+len(c.body)))...)
			if _, err := conn.nc.Write(append(msg, c.body...)); err != nil {
				t.Fatal(err)
			}
			last := c.want[len(c.want)-3:]
			end := byte('E')
			if last == "Z:I" {
				end = 'Z'
			}
			if got := conn.until(end); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if end == 'E' {
				conn.send(&pgproto3.Sync{})
				conn.until('Z')
			}
			conn.send(query("rows 1"))
			if got := conn.until('Z'); got != "T D*1 C:SELECT 1 Z:I" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// TestConn_Lost checks that the server closes the connection where PostgreSQL does: after messages that have no place
// there, or a length that none can have. It does not wait for the rest of them.
func TestConn_Lost(t *testing.T) {
	for _, c := range []struct {
		typ    byte
		length uint32
		want   string
	}{
		{'p', 4, "invalid frontend message type 112"},
		{'P', 1<<30 - 1, "invalid message length"},
		{'E', 10_001, "invalid message length"},
		{'S', 10_001, "invalid message length"},
		{'Q', 3, "invalid message length"},
	} {
		_, addr := serve(t, &fake{}, nil)
		conn := login(t, addr)
		if _, err := conn.nc.Write(binary.BigEndian.AppendUint32([]byte{c.typ}, c.length)); err != nil {
			t.Fatal(err)
		}
		if got := conn.until('E'); got != "E:08P01" || conn.last.Severity != "FATAL" || conn.last.Message != c.want {
			t.Errorf("%c: got %s, %+v", c.typ, got, conn.last)
		}
		if m, err := conn.fe.Receive(); err == nil {
			t.Errorf("%c: the connection goes on with %T", c.typ, m)
		}
	}
}

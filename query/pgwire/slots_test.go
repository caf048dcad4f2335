package pgwire_test

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
)

// TestServer_SilentClients checks that any number of connections that send nothing cannot keep others out. They are
// ended to make room, and told why.
func TestServer_SilentClients(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) { o.MaxConnections = 4 })
	var silent []*client
	for range 300 {
		silent = append(silent, dial(t, addr))
	}
	c := login(t, addr)
	c.send(query("rows 1"))
	if got := c.until('Z'); got != "T D*1 C:SELECT 1 Z:I" {
		t.Errorf("with silent clients: %s", got)
	}
	for _, i := range []int{0, 1, 150} {
		if got := silent[i].until('E'); got != "E:53300" {
			t.Errorf("silent client %d got %s", i, got)
		}
	}
	// The last ones are still accepted.
	last := silent[len(silent)-1]
	last.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}})
	if got := last.until('Z'); got == "" || got[len(got)-3:] != "Z:I" {
		t.Errorf("the last silent client got %s", got)
	}
}

// crowded is a listener of a process whose files are used up, for the next connections.
type crowded struct {
	net.Listener
	spare string // is missing from then on
	next  int
}

func (l *crowded) Accept() (net.Conn, error) {
	if l.next > 0 && os.Remove(l.spare) == nil {
		l.next--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// TestServer_tooManyFiles checks that a client for whose connection there is no file left is told so, instead of
// waiting, and that the next one is served when there are files again.
func TestServer_tooManyFiles(t *testing.T) {
	spare := filepath.Join(t.TempDir(), "spare")
	if err := os.WriteFile(spare, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	srv := pgwire.NewServer(pgwire.Options{Handler: &fake{}, Log: slog.New(slog.DiscardHandler)})
	srv.SetSpare(spare)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(&crowded{inner, spare, 2}) }()
	defer func() {
		if err := errors.Join(srv.Shutdown(t.Context()), <-done); !errors.Is(err, pgwire.ErrServerClosed) {
			t.Error(err)
		}
	}()
	addr := inner.Addr().String()
	surplus := dial(t, addr)
	surplus.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}})
	if got := surplus.until('E'); got != "E:53300" {
		t.Fatalf("without a file: %s", got)
	}
	again := func() {
		t.Helper()
		if err := os.WriteFile(spare, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again()
	silent := dial(t, addr)
	began := time.Now()
	if got := silent.until('E'); got != "E:53300" || time.Since(began) > 5*time.Second {
		t.Errorf("a silent client without a file: %s after %v", got, time.Since(began))
	}
	again()
	login(t, addr)
}

// TestServer_StartupTimeout checks that a client that stops during login is told why it is disconnected.
func TestServer_StartupTimeout(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) {
		o.StartupTimeout = 50 * time.Millisecond
		o.Credentials = users{"ann": verifier(t, "pencil")}
	})
	begun, silent := dial(t, addr), dial(t, addr)
	begun.send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
		Parameters: map[string]string{"user": "ann"}})
	for _, c := range []*client{begun, silent} {
		if got := c.until('E'); !strings.HasSuffix(got, "E:57014") {
			t.Errorf("got %s", got)
		}
	}
}

// TestServer_AdminSlots checks that the last slots are reserved for admins, and that clients over the limit get
// PostgreSQL's messages.
func TestServer_AdminSlots(t *testing.T) {
	ann, root := verifier(t, "pencil"), verifier(t, "sesame")
	root.Admin = true
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) {
		o.MaxConnections = 5
		o.Credentials = users{"ann": ann, "root": root}
	})
	connect := func(credentials string) string {
		conn, err := pgconn.Connect(t.Context(), "postgres://"+credentials+"@"+addr+"/db?sslmode=disable")
		var pe *pgconn.PgError
		if errors.As(err, &pe) {
			return pe.Code + " " + pe.Message
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		return "in"
	}
	const reserved = "53300 remaining connection slots are reserved for non-replication superuser connections"
	for i, c := range []struct{ credentials, want string }{
		{"ann:pencil", "in"},
		{"ann:pencil", "in"},
		{"ann:pencil", reserved},
		{"root:sesame", "in"},
		{"root:sesame", "in"},
		{"ann:pencil", reserved},
		{"root:sesame", "in"},
		{"root:sesame", "53300 sorry, too many clients already"},
		{"ann:pencil", "53300 sorry, too many clients already"},
		{"ann:wrong", `28P01 password authentication failed for user "ann"`},
	} {
		if got := connect(c.credentials); got != c.want {
			t.Errorf("client %d, %s: %s, want %s", i, c.credentials, got, c.want)
		}
	}
}

// TestServer_RefusalArrives checks that a client still receives its refusal if it has sent more than the server reads.
func TestServer_RefusalArrives(t *testing.T) {
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) { o.MaxConnections = 1 })
	login(t, addr)
	for range 50 {
		c := dial(t, addr)
		ahead := &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
			Parameters: map[string]string{"user": "ann"}}
		b, err := ahead.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if b, err = query("rows 1").Encode(b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.nc.Write(b); err != nil {
			t.Fatal(err)
		}
		if got := c.until('E'); got != "E:53300" {
			t.Fatalf("got %s", got)
		}
	}
}

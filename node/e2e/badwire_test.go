package e2e_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// wire is a Postgres connection after its start-up, for raw messages.
type wire struct {
	t    *testing.T
	conn net.Conn
}

func dialWire(t *testing.T, p *process, db string) *wire {
	t.Helper()
	conn, err := net.DialTimeout("tcp", p.ready["sql"], 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	w := &wire{t, conn}
	body := "\x00\x03\x00\x00user\x00me\x00database\x00" + db + "\x00\x00"
	w.send(string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))) + body)
	if last := w.until('Z', 'E'); last != 'Z' {
		t.Fatal("no start-up")
	}
	return w
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.conn, text); err != nil {
		w.t.Fatal(err)
	}
}

// message returns a message with its length.
func message(kind byte, body string) string {
	return string(kind) + string(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))) + body
}

// until reads messages until one of the given kinds, which it returns; 0 at the end of the connection.
func (w *wire) until(kinds ...byte) byte {
	w.t.Helper()
	for {
		var head [5]byte
		if _, err := io.ReadFull(w.conn, head[:]); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				return 0
			}
			w.t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, w.conn, int64(binary.BigEndian.Uint32(head[1:])-4)); err != nil {
			w.t.Fatal(err)
		}
		for _, k := range kinds {
			if head[0] == k {
				return k
			}
		}
	}
}

// Each malformed message of a logged-in client is an error, and the connection continues if Postgres' does.
func TestSQL_MalformedMessages(t *testing.T) {
	p := start(t, t.TempDir())
	p.client().ok("PUT", "/db", "")
	for _, c := range []struct {
		name, bytes string
		closes      bool // as Postgres does after losing the framing
	}{
		{"Parse without an end", message('P', "name"), false},
		{"Parse with too many parameters", message('P', "\x00select 1\x00\x7f\xff"), false},
		{"Bind of an unknown statement", message('B', "\x00nope\x00\x00\x00\x00\x00\x00\x00"), false},
		{"Bind that ends in a parameter", message('B', "\x00\x00\x00\x00\x00\x01\x00\x00\x00\xff"), false},
		{"Execute of an unknown portal", message('E', "nope\x00\x00\x00\x00\x00"), false},
		{"Execute that is cut", message('E', "nope"), false},
		{"Describe of nothing", message('D', ""), false},
		{"Describe of an unknown kind", message('D', "X\x00"), false},
		{"Close of an unknown kind", message('C', "X\x00"), false},
		{"a query without its end", message('Q', "select 1"), false},
		{"a query that is no UTF-8", message('Q', "select '\xff\xfe'\x00"), false},
		{"an unknown kind of message", message('!', "abc"), true},
		{"a length below four", "Q\x00\x00\x00\x01", true},
		{"an enormous length", "Q\x7f\xff\xff\xff", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dialWire(t, p, "db")
			w.send(c.bytes)
			if !c.closes {
				w.send(message('S', ""))
			}
			if got := w.until('E'); got != 'E' {
				t.Fatal("no error was sent")
			}
			if c.closes {
				if got := w.until('Z'); got != 0 {
					t.Error("the connection stays open without framing")
				}
				return
			}
			w.until('Z')
			w.send(message('Q', "select 1\x00"))
			if got := w.until('D', 'E'); got != 'D' {
				t.Error("the connection is no longer usable")
			}
		})
	}
	// A message that never ends.
	w := dialWire(t, p, "db")
	w.send("Q\x00\x00\x10\x00select")
	w.conn.Close()

	conn := connect(t, p, "db", "me")
	long := `SELECT '` + strings.Repeat("x", 20<<20) + `'`
	var pg *pgconn.PgError
	if _, err := conn.Exec(t.Context(), long); err == nil {
		t.Error("a statement of 20 MB was accepted")
	} else if errors.As(err, &pg) && pg.Code == "XX000" {
		t.Errorf("a statement of 20 MB: %v", err)
	}
	deep := `SELECT ` + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000)
	if _, err := connect(t, p, "db", "me").Exec(t.Context(), deep); err == nil {
		t.Error("a hundred thousand brackets were accepted")
	}
	if !p.running() || p.client().status("GET", "/db", "") != 200 {
		t.Error("the server did not survive")
	}
	p.stop(syscall.SIGTERM)
}

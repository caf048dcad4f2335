package pgwire_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// encode joins messages.
func encode(msgs ...pgproto3.FrontendMessage) []byte {
	var b []byte
	for _, m := range msgs {
		b, _ = m.Encode(b)
	}
	return b
}

var startupMessage = &pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
	Parameters: map[string]string{"user": "ann"}}

// FuzzServer_Startup sends arbitrary bytes to a new connection. The server must answer or close, and serve the next
// client.
func FuzzServer_Startup(f *testing.F) {
	f.Add(encode(startupMessage))
	f.Add(encode(&pgproto3.SSLRequest{}, startupMessage))
	f.Add(encode(&pgproto3.CancelRequest{ProcessID: 1, SecretKey: []byte("1234")}))
	f.Add([]byte("GET / HTTP/1.0\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 9, 0, 3, 0, 0, 0})
	_, addr := serve(f, &fake{}, nil)
	f.Fuzz(func(t *testing.T, b []byte) { throw(t, addr, b) })
}

// FuzzConn_Messages sends arbitrary bytes to a session.
func FuzzConn_Messages(f *testing.F) {
	f.Add(encode(query("rows 3"), &pgproto3.Terminate{}))
	f.Add(encode(&pgproto3.Parse{Query: "rows 5"}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'},
		&pgproto3.Execute{MaxRows: 2}, &pgproto3.Sync{}))
	f.Add(encode(&pgproto3.Close{ObjectType: 'S'}, &pgproto3.Flush{}, &pgproto3.FunctionCall{}, &pgproto3.CopyData{},
		query("fail; panic")))
	f.Add([]byte{'Q', 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{'B', 0, 0, 0, 12, 0, 0, 0, 0, 0xff, 0xff, 0, 0})
	_, addr := serve(f, &fake{}, nil)
	head := encode(startupMessage)
	f.Fuzz(func(t *testing.T, b []byte) { throw(t, addr, append(head[:len(head):len(head)], b...)) })
}

// throw writes bytes, closes the sending side, and reads until the server closes too.
func throw(t *testing.T, addr string, b []byte) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	go func() {
		_, _ = nc.Write(b)
		_ = nc.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(io.Discard, nc); err != nil {
		var ne net.Error
		if errors.As(err, &ne) && ne.Timeout() {
			t.Fatalf("the server neither answered nor closed")
		}
	}
	c := login(t, addr)
	c.send(query("rows 1"))
	if got := c.until('Z'); got != "T D*1 C:SELECT 1 Z:I" {
		t.Fatalf("afterwards: %s", got)
	}
}

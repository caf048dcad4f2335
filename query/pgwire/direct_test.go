package pgwire_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
)

// A client may begin TLS without asking first if it names the protocol (sslnegotiation=direct). In any other way, and
// without certificate, the connection is refused.
func TestServer_DirectTLS(t *testing.T) {
	cert, pool := certificate(t)
	_, secure := serve(t, &fake{}, func(o *pgwire.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		o.RequireTLS = true
	})
	_, plain := serve(t, &fake{}, nil)
	for _, c := range []struct {
		name, addr string
		protocols  []string
		ask        bool // before, as in the usual way
		want       string
	}{
		{"direct", secure, []string{"postgresql"}, false, "Z"},
		{"one of several protocols", secure, []string{"h2", "postgresql"}, false, "Z"},
		{"no protocol", secure, nil, false, "E:08P01"},
		{"another protocol", secure, []string{"h2"}, false, "no handshake"},
		{"asked for, another protocol", secure, []string{"h2"}, true, "Z"},
		{"asked for, the protocol", secure, []string{"postgresql"}, true, "Z"},
		{"no certificate", plain, []string{"postgresql"}, false, "no handshake"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, err := net.Dial("tcp", c.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
			if c.ask {
				ssl, _ := (&pgproto3.SSLRequest{}).Encode(nil)
				answer := make([]byte, 1)
				if _, err := nc.Write(ssl); err != nil {
					t.Fatal(err)
				}
				if _, err := nc.Read(answer); err != nil || answer[0] != 'S' {
					t.Fatalf("%q, %v", answer, err)
				}
			}
			over := tls.Client(nc, &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: c.protocols})
			if err := over.Handshake(); err != nil {
				if c.want != "no handshake" {
					t.Error(err)
				}
				return
			}
			front := pgproto3.NewFrontend(over, over)
			front.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
				Parameters: map[string]string{"user": "ann"}})
			if err := front.Flush(); err != nil {
				t.Fatal(err)
			}
			got := ""
			for got == "" {
				msg, err := front.Receive()
				switch m := msg.(type) {
				case *pgproto3.ReadyForQuery:
					got = "Z"
				case *pgproto3.ErrorResponse:
					got = "E:" + m.Code
				case nil:
					t.Fatal(err)
				}
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

package pgwire_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/divandb/divan/query/pgwire"
)

// serveTLS starts a server with a certificate and the user ann:pencil.
func serveTLS(t *testing.T) (string, tls.Certificate) {
	cert, _ := certificate(t)
	_, addr := serve(t, &fake{}, func(o *pgwire.Options) {
		o.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		o.Credentials = users{"ann": verifier(t, "pencil")}
	})
	return addr, cert
}

func logIn(t *testing.T, addr, password, rest string) error {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), "postgres://ann:"+password+"@"+addr+"/db?"+rest)
	if err != nil {
		return err
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), "rows 1").ReadAll()
	return err
}

func TestServer_ChannelBinding(t *testing.T) {
	addr, _ := serveTLS(t)
	for _, c := range []struct{ password, rest, code string }{
		{"pencil", "sslmode=require&channel_binding=require", ""},
		{"pencil", "sslmode=require&channel_binding=prefer", ""},
		{"pencil", "sslmode=require&channel_binding=disable", ""},
		{"pencil", "sslmode=disable", ""},
		{"crayon", "sslmode=require&channel_binding=require", "28P01"},
	} {
		err := logIn(t, addr, c.password, c.rest)
		var pe *pgconn.PgError
		if c.code == "" && err != nil || c.code != "" && (!errors.As(err, &pe) || pe.Code != c.code) {
			t.Errorf("%s, %s: %v, want %q", c.password, c.rest, err, c.code)
		}
	}
	// Without TLS there is no channel to bind to.
	if err := logIn(t, addr, "pencil", "sslmode=disable&channel_binding=require"); err == nil {
		t.Error("bound without TLS")
	}
}

// A proxy that terminates TLS shows the client another certificate.
func TestServer_ChannelBindingInBetween(t *testing.T) {
	addr, _ := serveTLS(t)
	other, _ := certificate(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			passOn(client, addr, other)
		}
	}()
	var pe *pgconn.PgError
	err = logIn(t, l.Addr().String(), "pencil", "sslmode=require&channel_binding=require")
	if !errors.As(err, &pe) || pe.Code != "28000" || !strings.Contains(pe.Message, "channel binding") {
		t.Errorf("bound to another certificate: %v", err)
	}
	if err := logIn(t, l.Addr().String(), "pencil", "sslmode=require&channel_binding=disable"); err != nil {
		t.Errorf("the proxy does not forward: %v", err)
	}
	_ = l.Close()
	<-done
}

// passOn terminates a client's TLS with its own certificate, and forwards the bytes over TLS.
func passOn(client net.Conn, addr string, cert tls.Certificate) {
	defer client.Close()
	ssl := make([]byte, 8)
	if _, err := io.ReadFull(client, ssl); err != nil {
		return
	}
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	yes := make([]byte, 1)
	_, _ = server.Write(ssl)
	_, _ = io.ReadFull(server, yes)
	_, _ = client.Write(yes)
	in := tls.Server(client, &tls.Config{Certificates: []tls.Certificate{cert}})
	out := tls.Client(server, &tls.Config{InsecureSkipVerify: true})
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(in, out)
		_ = in.Close()
	}()
	_, _ = io.Copy(out, in)
	_ = out.Close()
	<-back
}

// What a client says about channel binding must match what was offered and selected.
func TestServer_ChannelBindingNegotiation(t *testing.T) {
	addr, _ := serveTLS(t)
	for _, c := range []struct{ name, mechanism, data, want string }{
		{"downgraded", "SCRAM-SHA-256", "y,,n=,r=abc", "E:28000"},
		{"bound without the mechanism", "SCRAM-SHA-256", "p=tls-server-end-point,,n=,r=abc", "E:08P01"},
		{"the mechanism without binding", "SCRAM-SHA-256-PLUS", "n,,n=,r=abc", "E:08P01"},
		{"another binding", "SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=abc", "E:08P01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			ssl, _ := (&pgproto3.SSLRequest{}).Encode(nil)
			_, _ = nc.Write(ssl)
			_, _ = io.ReadFull(nc, make([]byte, 1))
			out := tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
			front := pgproto3.NewFrontend(out, out)
			front.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30,
				Parameters: map[string]string{"user": "ann"}})
			if err := front.Flush(); err != nil {
				t.Fatal(err)
			}
			m, err := front.Receive()
			if sasl, ok := m.(*pgproto3.AuthenticationSASL); err != nil || !ok ||
				strings.Join(sasl.AuthMechanisms, " ") != "SCRAM-SHA-256-PLUS SCRAM-SHA-256" {
				t.Fatalf("offered %+v, %v", m, err)
			}
			front.Send(&pgproto3.SASLInitialResponse{AuthMechanism: c.mechanism, Data: []byte(c.data)})
			if err := front.Flush(); err != nil {
				t.Fatal(err)
			}
			m, err = front.Receive()
			if e, ok := m.(*pgproto3.ErrorResponse); err != nil || !ok || "E:"+e.Code != c.want {
				t.Errorf("got %+v, %v, want %s", m, err, c.want)
			}
		})
	}
}

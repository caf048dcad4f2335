package cluster_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// A client of the port for remoting that is silent is disconnected: without a word, after the beginning of HTTP/2
// without a request, and one that does not answer a ping.
func TestRemoting_silentClient(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret string
		begin  func(net.Conn) error
	}{
		"without a word":          {"", func(net.Conn) error { return nil }},
		"without a word, for TLS": {"sesame", func(net.Conn) error { return nil }},
		"in the middle":           {"", func(nc net.Conn) error { return send(nc, "PRI * HT") }},
		"without a request":       {"", func(nc net.Conn) error { return send(nc, preface+noSettings) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := startProcess(t, memberSpec{Name: "a", Secret: c.secret})
			nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", find(t, a, "a").Remote)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			if err := c.begin(nc); err != nil {
				t.Fatal(err)
			}
			// 15 s, and as much again for a slow machine.
			if err := nc.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, nc); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection is still open after 30 s")
			}
		})
	}
}

// The beginning of a connection of HTTP/2 (RFC 9113, 3.4): the preface, and a frame of settings that is empty.
const (
	preface    = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	noSettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
)

func send(nc net.Conn, text string) error {
	_, err := io.WriteString(nc, text)
	return err
}

package e2e_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// overTCP makes a PostgreSQL, which may listen in a directory, reachable over TCP until the test ends, for clients that
// support no other sockets.
func overTCP(t *testing.T, host string, port uint16) (tcpHost, tcpPort string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	network, address := pgconn.NetworkAddress(host, port)
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				t.Errorf("cannot connect to PostgreSQL: %v", err)
				client.Close()
				continue
			}
			pipe := func(to, from net.Conn) {
				// The end of one direction ends the other.
				_, _ = io.Copy(to, from)
				to.Close()
				from.Close()
			}
			wg.Go(func() { pipe(client, server) })
			wg.Go(func() { pipe(server, client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	tcpHost, tcpPort, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return tcpHost, tcpPort
}

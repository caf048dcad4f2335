package query_test

import (
	"net"
	"strconv"
	"testing"

	"github.com/divandb/divan/query/exec/exectest"
)

// pg_stat_activity shows a client's address and port in columns of their own.
func TestStatActivity_Address(t *testing.T) {
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	conn := connect(t, "postgres://ann@"+addr+"/cities")
	var host string
	var port int
	if err := conn.QueryRow(t.Context(), "SELECT client_addr::text, client_port FROM pg_stat_activity "+
		"WHERE pid = pg_backend_pid()").Scan(&host, &port); err != nil {
		t.Fatal(err)
	}
	if got, want := net.JoinHostPort(host, strconv.Itoa(port)), conn.PgConn().Conn().LocalAddr().String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

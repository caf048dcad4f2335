package query_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/divandb/divan/query/exec/exectest"
)

// TestManual serves a small database for a while, for somebody to look at with a client: DIVAN_MANUAL=10m go test -run Manual -v .
func TestManual(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("DIVAN_MANUAL"))
	if err != nil {
		t.Skip("DIVAN_MANUAL is not set to a duration")
	}
	s := exectest.NewStore()
	cities(s)
	_, addr := start(t, s, nil)
	fmt.Println("serving on", addr)
	_ = os.WriteFile("/tmp/divan-manual-addr", []byte(addr), 0o600)
	time.Sleep(d)
}

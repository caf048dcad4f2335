//go:build fdb

package fdbtest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// lock locks the cluster until the test ends, exclusively if alone is set, otherwise shared. It blocks.
func lock(tb testing.TB, clusterFile string, alone bool) {
	tb.Helper()
	h := fnv.New64a()
	_, _ = h.Write([]byte(clusterFile))
	f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("divan-fdbtest-%x.lock", h.Sum64())),
		os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() }) // closing unlocks
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		if err = syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

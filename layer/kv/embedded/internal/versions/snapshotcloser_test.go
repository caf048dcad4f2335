package versions

import (
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A push may call Signal after another signal has had its snapshot closed and the closer was stopped.
func TestSnapshotCloser_lateSignal(t *testing.T) {
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	var c Closer
	c.Start()
	var wg sync.WaitGroup
	for range 2 * closeTogether {
		c.open.Add(1)
		wg.Go(func() { c.push(db.NewSnapshot()) })
	}
	c.Stop()
	c.Signal()
	wg.Wait()
	if err := db.Close(); err != nil {
		t.Errorf("a snapshot is open: %v", err)
	}
}

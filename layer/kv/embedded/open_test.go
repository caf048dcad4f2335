package embedded_test

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded"
)

// slowCompactions is a disk on which no compaction makes progress until free is closed.
type slowCompactions struct {
	vfs.FS
	free  chan struct{}
	begun chan struct{} // a token for each compaction that wants to write
}

func (d *slowCompactions) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if category == "pebble-compaction" {
		d.begun <- struct{}{}
		<-d.free
	}
	return d.FS.Create(name, category)
}

// Pebble finds work for a compaction while it opens a store, starts it, and waits for it to end. A compaction of a
// large store takes long, and the store would not be available meanwhile.
func TestOpen_doesNotWaitForCompactions(t *testing.T) {
	disk := vfs.NewMem()
	o := embedded.Options{Logger: quiet(t), MemTableBytes: 1 << 20}.WithFS(disk)
	e, err := embedded.Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	e.HoldCompactions()
	for level0(e) < 8 {
		writeTable(t, e)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	slow := &slowCompactions{FS: disk, free: make(chan struct{}), begun: make(chan struct{}, 100)}
	opened := make(chan *embedded.Engine, 1)
	go func() {
		e, err := embedded.Open("store", o.WithFS(slow))
		if err != nil {
			t.Error(err)
		}
		opened <- e
	}()
	select {
	case e = <-opened:
	case <-time.After(20 * time.Second):
		t.Error("the store does not open while a compaction runs")
		close(slow.free)
		e = <-opened
	}
	if e == nil {
		return
	}
	defer e.Close()
	if t.Failed() {
		return
	}
	// The compaction is only delayed until the store is open.
	select {
	case <-slow.begun:
	case <-time.After(20 * time.Second):
		t.Error("no compaction begins after the store is open")
	}
	close(slow.free)
}

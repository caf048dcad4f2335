package embedded_test

import (
	"io"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crashDisk is a disk in memory whose power can be cut while it is used. Three of MemFS's operations take its read
// lock twice, and deadlock with a CrashClone that asks for the lock between the two. Another lock around the
// operations prevents that.
type crashDisk struct {
	*vfs.MemFS
	twice sync.RWMutex
}

func newCrashDisk() *crashDisk { return &crashDisk{MemFS: vfs.NewCrashableMem()} }

func (d *crashDisk) CrashClone(cfg vfs.CrashCloneCfg) *crashDisk {
	d.twice.Lock()
	defer d.twice.Unlock()
	return &crashDisk{MemFS: d.MemFS.CrashClone(cfg)}
}

func (d *crashDisk) Lock(name string) (io.Closer, error) {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.Lock(name)
}

func (d *crashDisk) Link(oldname, newname string) error {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.Link(oldname, newname)
}

func (d *crashDisk) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	d.twice.RLock()
	defer d.twice.RUnlock()
	return d.MemFS.ReuseForWrite(oldname, newname, category)
}

package embedded

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// standby is a second opening of the store, for reading alone, while the first waits for room on the disk or for the permission to write. All of its
// writing is what the first one waits with. When that can go on, the engine changes over to it: new transactions read it, old ones read on in the
// standby until they end. Tables that the first one no longer needs stay until then.
type standby struct {
	opened    chan opening // what becomes of the first opening
	snapshots snapshotCloser
	guard     *guard

	finished  chan struct{} // closed when finish has ended
	abandoned bool          // by finish, before finished is closed: the first opening still waits
}

// opening is what became of opening Pebble.
type opening struct {
	db  *pebble.DB
	err error
}

// Exists reports whether there is a store in dir.
func Exists(dir string) (bool, error) {
	desc, err := pebble.Peek(dir, vfs.Default)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return desc.Exists, nil
}

// openOrStandBy opens the store. Where that would have to wait, e has a standby, and its database is returned.
func (e *Engine) openOrStandBy(dir string, po *pebble.Options) (*pebble.DB, error) {
	desc, err := pebble.Peek(dir, e.store.fs)
	if err != nil {
		return nil, err
	}
	e.guard.patient.Store(desc.Exists)
	if desc.Exists {
		e.space.beforeOpening()
	}
	opened := make(chan opening, 1)
	e.commits.busy.begin()
	go func() {
		var o opening
		if o.err = e.guard.try(false, e.horizon.open); o.err == nil {
			o.db, o.err = e.store.openPebble(dir, po)
		}
		opened <- o
	}()
	select {
	case o := <-opened:
		e.commits.busy.end()
		e.guard.patient.Store(true)
		return o.db, o.err
	case <-e.space.stalled():
	}
	// Nothing changes in the directory while it is read: what waits is not tried again meanwhile.
	e.space.retrying.Lock()
	defer e.space.retrying.Unlock()
	sb := &standby{opened: opened, guard: &e.guard, finished: make(chan struct{})}
	db, err := e.openReading(dir)
	if err != nil {
		e.guard.ended.Store(true)
		return nil, errors.Join(e.space.refusal(), err)
	}
	sb.snapshots.start()
	e.space.opening.Store(true)
	e.standby = sb
	e.store.log.Warn("the store cannot be written; it is read, and opened for writing as soon as it can be", "directory", dir, "error", e.space.refusal())
	return db, nil
}

// openReading opens the store in dir for reading.
func (e *Engine) openReading(dir string) (*pebble.DB, error) {
	if err := e.guard.kept.fill(e.store.fs, dir); err != nil {
		return nil, err
	}
	db, err := e.store.openPebble(dir, readOnlyOptions(e.o, &e.store, &e.damage, newReadOnlyFS(newTableFS(e.store.fs, &e.damage), dir)))
	if err != nil {
		e.guard.kept.free(e.store.fs)
		return nil, fmt.Errorf("embedded: open the store in %s for reading: %w", dir, err)
	}
	return db, nil
}

// finish waits for the first opening, and changes the engine over to it.
func (sb *standby) finish(e *Engine) {
	defer close(sb.finished)
	var o opening
	select {
	case <-e.store.stop:
		sb.abandoned = true
		return
	case o = <-sb.opened:
	}
	e.commits.busy.end()
	if o.err == nil {
		o.err = checkSame(e, o.db)
	}
	if o.err == nil {
		o.err = needHorizon(o.db)
	}
	if o.err == nil {
		o.err = e.guard.try(false, func() error { return e.horizon.settle(e.views.version()) })
	}
	if o.err != nil {
		e.store.fail(o.err)
		sb.abandoned = true
		return
	}
	reading := e.store.db.Swap(o.db)
	e.views.publish(e.newView(e.views.version()))
	e.guard.armed.Store(true)
	e.space.opening.Store(false)
	e.store.log.Info("the store can be written again", "directory", e.store.dir)
	sb.snapshots.stop() // when nobody reads the standby any more
	if err := reading.Close(); err != nil {
		e.store.log.Warn("the store that was opened for reading is not closed", "error", err)
	}
	sb.guard.kept.free(e.store.fs)
}

// view is the state of the store as the standby reads it.
func (sb *standby) view(e *Engine, version int64) *view {
	v := sb.snapshots.newView(e.store.db.Load(), e.rows, version)
	v.standby = true
	return v
}

// checkSame reports an error where db is not at the version that is read.
func checkSame(e *Engine, db *pebble.DB) error {
	last, err := lastVersion(db)
	if err == nil && last != e.views.version() {
		err = fmt.Errorf("embedded: the store is at version %d, was read at %d", last, e.views.version())
	}
	return err
}

// end waits for finish, after every view was shut. It is false where the first opening still waits.
func (sb *standby) end() bool {
	<-sb.finished
	if sb.abandoned {
		sb.snapshots.stop()
	}
	return !sb.abandoned
}

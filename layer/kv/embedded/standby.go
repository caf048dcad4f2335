package embedded

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/damage"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/guard"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/salvage"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

// standby is a second opening of the store, for reading only, while the first one waits for disk space or for
// permission to write. All writing is done by the first opening. When that succeeds, the engine switches to it: new
// transactions read from it, and old ones continue in the standby until they end. Tables that the first opening no
// longer needs are kept until then.
type standby struct {
	opened    chan opening // the result of the first opening
	snapshots versions.Closer
	guard     *guard.Guard

	finished  chan struct{} // closed when finish has ended
	abandoned bool          // set by finish before it closes finished: the first opening still waits
}

// opening is the result of opening Pebble.
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

// openOrStandBy opens the store. If that would have to wait, it sets e.standby and returns the standby's database.
func (e *Engine) openOrStandBy(dir string, po *pebble.Options) (*pebble.DB, error) {
	desc, err := pebble.Peek(dir, e.store.FS)
	if err != nil {
		return nil, err
	}
	e.guard.Patient.Store(desc.Exists)
	if desc.Exists {
		e.space.BeforeOpening()
	}
	opened := make(chan opening, 1)
	e.commits.Busy.Begin()
	go func() {
		var o opening
		if o.err = e.guard.Try(false, e.horizon.Open); o.err == nil {
			if o.db, o.err = e.store.OpenPebble(dir, po); o.err == nil {
				e.compactions.Opened()
			}
		}
		opened <- o
	}()
	select {
	case o := <-opened:
		e.commits.Busy.End()
		e.guard.Patient.Store(true)
		return o.db, o.err
	case <-e.space.Stalled():
	}
	// No retries meanwhile, so that nothing in the directory changes while it is read.
	e.space.Retrying.Lock()
	defer e.space.Retrying.Unlock()
	sb := &standby{opened: opened, guard: &e.guard, finished: make(chan struct{})}
	db, err := e.openReading(dir)
	if err != nil {
		e.guard.Ended.Store(true)
		return nil, errors.Join(e.space.Refusal(), err)
	}
	sb.snapshots.Start()
	e.space.Opening.Store(true)
	e.standby = sb
	e.store.Log.Warn("the store cannot be written; it is opened for reading, and for writing as soon as possible",
		"directory", dir, "error", e.space.Refusal())
	return db, nil
}

// openReading opens the store in dir for reading.
func (e *Engine) openReading(dir string) (*pebble.DB, error) {
	if err := e.guard.Kept.Fill(e.store.FS, dir); err != nil {
		return nil, err
	}
	db, err := e.store.OpenPebble(dir, readOnlyOptions(e.o, &e.store, &e.damage,
		salvage.NewFS(damage.NewFS(e.store.FS, &e.damage), dir)))
	if err != nil {
		e.guard.Kept.Free(e.store.FS)
		return nil, fmt.Errorf("embedded: open the store in %s for reading: %w", dir, err)
	}
	return db, nil
}

// finish waits for the first opening, and switches the engine to it.
func (sb *standby) finish(e *Engine) {
	defer close(sb.finished)
	var o opening
	select {
	case <-e.store.Stop:
		sb.abandoned = true
		return
	case o = <-sb.opened:
	}
	e.commits.Busy.End()
	if o.err == nil {
		o.err = checkSame(e, o.db)
	}
	if o.err == nil {
		o.err = needHorizon(o.db)
	}
	if o.err == nil {
		o.err = e.guard.Try(false, func() error { return e.horizon.Settle(e.views.Version()) })
	}
	if o.err != nil {
		e.store.Fail(o.err)
		sb.abandoned = true
		return
	}
	reading := e.store.DB.Swap(o.db)
	e.views.Publish(e.newView(e.views.Version()))
	e.guard.Armed.Store(true)
	room.Judge(e.space) // with what was free for opening the disk may be full still, and its end must not be told
	e.space.Opening.Store(false)
	e.store.Log.Info("the store can be written again", "directory", e.store.Dir)
	sb.snapshots.Stop() // waits until nobody reads the standby any more
	if err := reading.Close(); err != nil {
		e.store.Log.Warn("cannot close the store that was opened for reading", "error", err)
	}
	sb.guard.Kept.Free(e.store.FS)
}

// view returns the state of the store that the standby reads.
func (sb *standby) view(e *Engine, version int64) *versions.View {
	v := sb.snapshots.NewView(e.store.DB.Load(), e.rows, version)
	v.Standby = true
	return v
}

// checkSame returns an error if db is not at the version that the standby reads.
func checkSame(e *Engine, db *pebble.DB) error {
	last, err := lastVersion(db)
	if err == nil && last != e.views.Version() {
		err = fmt.Errorf("embedded: the store is at version %d, but was read at %d", last, e.views.Version())
	}
	return err
}

// end waits for finish, after every view was shut. It returns false if the first opening still waits.
func (sb *standby) end() bool {
	<-sb.finished
	if sb.abandoned {
		sb.snapshots.Stop()
	}
	return !sb.abandoned
}

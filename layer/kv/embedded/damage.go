package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

// damage knows the damaged tables of the store. A damaged block is no reason to stop: what it held cannot be read, and
// everything else can be read and written. Pebble keeps the table out of compactions below level 0; for level 0 see
// tableFile.
//
// A read that meets damage reports it from wherever it is, with Pebble's locks held or not. The inspector, a goroutine
// of its own, then reads the whole table once, and says in the log what of it is damaged.
type damage struct {
	some    atomic.Bool   // tables is not empty
	cleared atomic.Bool   // a range with damage was cleared, see dropDead
	waiting atomic.Int64  // compactions, see tableFile
	wake    chan struct{} // one token while met is not empty

	mu struct {
		sync.RWMutex
		met    []string
		tables map[string]*damagedTable // by the name of the file
		vital  map[string]string        // what is wrong with files without which the store does not open
		turn   int                      // how often something about tables was found out
		buried chan struct{}            // closed when faults are found to be dead
	}
	full atomic.Bool // writes wait because level 0 is full
	// closing is closed by Close, for compactions that wait in tableFile.
	closing chan struct{}
}

// damagedTable is a table with damage, as far as the inspector knows. It does not change but by damage.inspected.
type damagedTable struct {
	faults []tableFault // sorted by place; empty before the inspector has come
	level  int
}

func (d *damage) init() {
	d.wake, d.closing = make(chan struct{}, 1), make(chan struct{})
	d.mu.tables, d.mu.vital = map[string]*damagedTable{}, map[string]string{}
	d.mu.buried = make(chan struct{})
}

// setVital notes what is wrong with a file without which the store does not open; "" for nothing.
func (d *damage) setVital(name, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what == "" {
		delete(d.mu.vital, name)
	} else {
		d.mu.vital[name] = what
	}
}

// vital is what is wrong with such files.
func (d *damage) vital() (what []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(d.mu.vital)) {
		what = append(what, d.mu.vital[name])
	}
	return what
}

// meet notes that a table was found to be damaged. It does not block.
func (d *damage) meet(name string) {
	d.mu.Lock()
	known := d.mu.tables[name] != nil
	if !known {
		d.mu.tables[name] = &damagedTable{}
		d.mu.met = append(d.mu.met, name)
		d.some.Store(true)
	}
	d.mu.Unlock()
	if known {
		return
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// stuck is a table of level 0 that no compaction can read, so that none can end there; "" for none.
func (d *damage) stuck() string {
	if !d.some.Load() {
		return ""
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name, t := range d.mu.tables {
		if t.level == 0 && slices.ContainsFunc(t.faults, func(f tableFault) bool { return f.vital }) {
			return name
		}
	}
	return ""
}

func (d *damage) takeMet() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	met := d.mu.met
	d.mu.met = nil
	return met
}

// inspected replaces what is known of a table; no faults forget it. What is dead stays dead: the file of a table does
// not change.
func (d *damage) inspected(name string, level int, faults []tableFault) {
	slices.SortFunc(faults, func(a, b tableFault) int { return int(a.begin - b.begin) })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.turn++
	if len(faults) == 0 {
		delete(d.mu.tables, name)
	} else {
		if old := d.mu.tables[name]; old != nil {
			for i := range old.faults {
				if old.faults[i].empty != nil {
					bury(faults, &old.faults[i])
				}
			}
		}
		d.mu.tables[name] = &damagedTable{faults: faults, level: level}
	}
	d.some.Store(len(d.mu.tables) > 0)
}

// bury makes the fault that is at the same place as dead as it is.
func bury(faults []tableFault, dead *tableFault) {
	for i := range faults {
		if f := &faults[i]; f.begin == dead.begin && f.end == dead.end && f.rows {
			f.empty = dead.empty
		}
	}
}

// bury notes faults of a table as dead, and has compactions that wait for them go on.
func (d *damage) bury(name string, dead []tableFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.mu.tables[name]
	if t == nil {
		return
	}
	faults := slices.Clone(t.faults)
	for i := range dead {
		bury(faults, &dead[i])
	}
	d.mu.tables[name] = &damagedTable{faults: faults, level: t.level}
	close(d.mu.buried)
	d.mu.buried = make(chan struct{})
}

// alive are the faults of a table that are not known to be dead.
func (d *damage) alive(name string, faults []tableFault) []tableFault {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if t := d.mu.tables[name]; t != nil {
		for i := range t.faults {
			if t.faults[i].empty != nil {
				bury(faults, &t.faults[i])
			}
		}
	}
	return slices.DeleteFunc(faults, func(f tableFault) bool { return f.empty != nil })
}

// losses are the faults that may become dead, by table. turn differs from before where there may be others.
func (d *damage) losses() (found map[string][]tableFault, turn int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	found = map[string][]tableFault{}
	for name, t := range d.mu.tables {
		for i := range t.faults {
			if f := &t.faults[i]; f.rows && f.empty == nil || f.vital {
				found[name] = append(found[name], *f)
			}
		}
	}
	return found, d.mu.turn
}

// within reports whether there is damage in a range of keys.
func (d *damage) within(r span) bool {
	if !d.some.Load() {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, t := range d.mu.tables {
		for i := range t.faults {
			if k := t.faults[i].Keys; len(k.End) > 0 && r.startsBefore(spanOf(k)) && spanOf(k).startsBefore(r) {
				return true
			}
		}
	}
	return false
}

// nextBurial is closed when faults are found to be dead after now.
func (d *damage) nextBurial() <-chan struct{} {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.buried
}

// known are the names of the damaged tables, in order, without those where all that is damaged is dead.
func (d *damage) known() (names []string, blocks int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name, t := range d.mu.tables {
		alive := 0
		for i := range t.faults {
			if t.faults[i].empty == nil {
				alive++
			}
		}
		if alive > 0 || len(t.faults) == 0 {
			names = append(names, name)
			blocks += alive
		}
	}
	slices.Sort(names)
	return names, blocks
}

// hit is the damaged piece that a read of a table would meet, and the table's level.
func (d *damage) hit(name string, begin, end int64) (f tableFault, level int, found bool) {
	if !d.some.Load() {
		return f, 0, false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	t := d.mu.tables[name]
	if t == nil {
		return f, 0, false
	}
	for _, f := range t.faults {
		if begin < f.end && f.begin < end {
			return f, t.level, true
		}
	}
	return f, 0, false
}

// listen has Pebble report damage.
func (d *damage) listen(l *pebble.EventListener) {
	l.DataCorruption = func(info pebble.DataCorruptionInfo) { d.meet(filepath.Base(info.Path)) }
	l.WriteStallEnd = func() { d.full.Store(false) }
	l.TableDeleted = func(info pebble.TableDeleteInfo) {
		if d.some.Load() && info.Err == nil {
			d.inspected(filepath.Base(info.Path), 0, nil)
		}
	}
}

// refuseStalled refuses writes where they wait for a compaction that cannot come to an end.
func (e *Engine) refuseStalled() {
	if !e.damage.full.Load() {
		return
	}
	if table := e.damage.stuck(); table != "" {
		e.fail(fmt.Errorf("the table %s has lost its index, so that nothing can be compacted, and level 0 is full; %s", table, damageHint))
	}
}

// refuseHeld refuses writes where level 0 is full and every compaction waits for a damaged block. Nothing can be
// flushed then, so that no clearing that is still to come makes the block dead. The inspector calls it after it has
// looked for dead blocks; held is whether the last call found it so, too, and no snapshot can still make a block dead.
// Once does not count, since a compaction may be about to begin.
func (e *Engine) refuseHeld(held bool) bool {
	if !e.damage.full.Load() || !e.compactions.allHeld() {
		return false
	}
	if held {
		e.failHeld()
	}
	return true
}

// failHeld refuses writes because level 0 is full and cannot be compacted.
func (e *Engine) failHeld() {
	names, _ := e.damage.known()
	e.fail(fmt.Errorf("level 0 is full, and its compaction needs what is damaged in %s; %s",
		strings.Join(names, ", "), damageHint))
}

// inspect is the inspector.
func (e *Engine) inspect() {
	defer e.running.Done()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	e.running.Go(func() {
		<-e.stop
		cancel()
	})
	tick := time.NewTicker(inspectPeriod)
	defer tick.Stop()
	var dead deadTried
	held := false
	for {
		ticked := false
		select {
		case <-e.stop:
			return
		case <-e.damage.wake:
		case err := <-dead.ended():
			dead.flushed(ctx, e, err)
		case <-tick.C:
			ticked = true
		}
		for _, name := range e.damage.takeMet() {
			if err := e.inspectTable(name); err != nil && !e.closing.Load() {
				e.log.Error("a table of the store is damaged and cannot be read", "table", name, "error", err)
			}
		}
		dead.look(ctx, e)
		if ticked {
			held = e.refuseHeld(held && !dead.hopeful())
		}
	}
}

// inspectPeriod is how often the inspector looks whether what is damaged was deleted meanwhile.
const inspectPeriod = time.Second

// inspectTable reads a table in which damage was met, and says what it found.
func (e *Engine) inspectTable(name string) error {
	tables, err := tablesOf(e.db.Load())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
	if i < 0 {
		e.damage.inspected(name, 0, nil) // compacted away meanwhile
		return nil
	}
	faults, _, err := checkTable(context.Background(), e.o.fs, e.dir, &tables[i], func(int64) error {
		if e.closing.Load() {
			return errClosed
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		e.log.Warn("a block of a table could not be read, and can be now: the disk, the memory or a cable may be failing", "table", name)
		e.damage.inspected(name, 0, nil)
		return nil
	}
	if faults, err = e.alive(&tables[i], faults); err != nil {
		return err
	}
	if len(faults) > 0 {
		e.log.Error("the store is damaged: what a block held cannot be read, everything else can", "table", name,
			"what", faults[0].What, "blocks", len(faults), "hint", damageHint)
	}
	e.refuseStalled()
	return nil
}

// damageHint is what an operator can do about damage.
const damageHint = "`divan verify` names the databases and documents; `divan export -skip-damaged` saves all that " +
	"can be read of a database. Delete the databases after that, and import them again: the store gets rid of a " +
	"damaged block once all that it can have held is deleted. What is damaged still a minute later can hold " +
	"something else, too: save all databases, and import them into a node with a new data directory, or start on " +
	"a backup"

// Degraded implements kv.Degrader.
func (e *Engine) Degraded() []string {
	reasons := e.space.degraded()
	if what := e.damage.vital(); len(what) > 0 {
		reasons = append(reasons, fmt.Sprintf("store_damaged: of the store in %s, %s; it is served as long as this "+
			"node runs, and then does not open any more: save each database with `divan export` now, and import them "+
			"into a new store, or bring back what was there",
			e.dir, strings.Join(what, "; ")))
	}
	if !e.damage.some.Load() {
		return reasons
	}
	names, blocks := e.damage.known()
	if len(names) == 0 {
		return reasons
	}
	what := fmt.Sprintf("%d files of the store in %s are damaged, the first is %s", len(names), e.dir, names[0])
	if len(names) == 1 {
		what = fmt.Sprintf("the file %s of the store in %s is damaged", names[0], e.dir)
	}
	if blocks > 0 {
		what += fmt.Sprintf(" (blocks: %d)", blocks)
	}
	return append(reasons, "store_damaged: "+what+"; what it held there cannot be read, everything else is served; "+damageHint)
}

// isDamage reports whether err says that bytes on disk are not what was written, or cannot be read.
func isDamage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, syscall.EIO)
}

// errDamaged is the error of a read that meets damage. It is final for the transaction, not for the store.
func errDamaged(err error) *kv.Error {
	return kv.NewError(kv.CodeFileCorrupt, "what was asked for is damaged on disk", firstLine{err})
}

// firstLine is an error without the details that Pebble puts below it.
type firstLine struct{ error }

func (l firstLine) Error() string {
	text, _, _ := strings.Cut(l.error.Error(), "\n")
	return text
}

func (l firstLine) Unwrap() error { return l.error }

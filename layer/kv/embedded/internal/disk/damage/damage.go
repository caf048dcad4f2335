package damage

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
)

// Damage tracks the damaged tables of the store. A damaged block is no reason to stop: its rows cannot be read, but
// everything else can be read and written. Pebble leaves the table out of compactions below level 0; for level 0 see
// tableFile.
//
// A read that meets damage reports it from any place, possibly with Pebble's locks held. The inspector goroutine then
// reads the whole table once and logs what is damaged.
type Damage struct {
	some    atomic.Bool   // tables is not empty
	Cleared atomic.Bool   // a damaged range was cleared, see deadTried.look
	Waiting atomic.Int64  // waiting compactions, see tableFile
	wake    chan struct{} // one token while met is not empty

	mu struct {
		sync.RWMutex
		met       []string
		tables    map[string]*damagedTable // by file name
		vital     map[string]string        // what is wrong with files without which the store does not open
		turn      int                      // changes whenever something new is known about tables
		foundDead chan struct{}            // closed when faults are found to be dead
	}
	Full atomic.Bool // writes wait because level 0 is full
	// Closing is closed by Close, for compactions that wait in tableFile.
	Closing chan struct{}
}

// damagedTable is a table with damage, as far as the inspector knows. Only Damage.inspected and markDead change it.
type damagedTable struct {
	faults []sst.Fault // sorted by position; empty until the inspector has read the table
	level  int
}

// Prepare initialises the zero value.
func (d *Damage) Prepare() {
	d.wake, d.Closing = make(chan struct{}, 1), make(chan struct{})
	d.mu.tables, d.mu.vital = map[string]*damagedTable{}, map[string]string{}
	d.mu.foundDead = make(chan struct{})
}

// SetVital records what is wrong with a file without which the store does not open; "" for nothing.
func (d *Damage) SetVital(name, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what == "" {
		delete(d.mu.vital, name)
	} else {
		d.mu.vital[name] = what
	}
}

// vital returns what is wrong with such files.
func (d *Damage) vital() (what []string) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(d.mu.vital)) {
		what = append(what, d.mu.vital[name])
	}
	return what
}

// Meet records that a table was found to be damaged. It does not block.
func (d *Damage) Meet(name string) {
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

// stuck returns a table of level 0 that no compaction can read, so that no compaction can finish there; "" for none.
func (d *Damage) stuck() string {
	if !d.some.Load() {
		return ""
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name, t := range d.mu.tables {
		if t.level == 0 && slices.ContainsFunc(t.faults, func(f sst.Fault) bool { return f.Vital }) {
			return name
		}
	}
	return ""
}

func (d *Damage) takeMet() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	met := d.mu.met
	d.mu.met = nil
	return met
}

// inspected replaces what is known about a table; without faults the table is removed. Dead faults stay dead, since a
// table's file never changes.
func (d *Damage) inspected(name string, level int, faults []sst.Fault) {
	slices.SortFunc(faults, func(a, b sst.Fault) int { return int(a.Begin - b.Begin) })
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mu.turn++
	if len(faults) == 0 {
		delete(d.mu.tables, name)
	} else {
		if old := d.mu.tables[name]; old != nil {
			for i := range old.faults {
				if old.faults[i].Empty != nil {
					markDead(faults, &old.faults[i])
				}
			}
		}
		d.mu.tables[name] = &damagedTable{faults: faults, level: level}
	}
	d.some.Store(len(d.mu.tables) > 0)
}

// markDead copies the dead state of a fault to the one at the same position.
func markDead(faults []sst.Fault, dead *sst.Fault) {
	for i := range faults {
		if f := &faults[i]; f.Begin == dead.Begin && f.End == dead.End && f.Rows {
			f.Empty = dead.Empty
		}
	}
}

// markDead marks faults of a table as dead, and lets compactions that wait for them continue.
func (d *Damage) markDead(name string, dead []sst.Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.mu.tables[name]
	if t == nil {
		return
	}
	faults := slices.Clone(t.faults)
	for i := range dead {
		markDead(faults, &dead[i])
	}
	d.mu.tables[name] = &damagedTable{faults: faults, level: t.level}
	close(d.mu.foundDead)
	d.mu.foundDead = make(chan struct{})
}

// alive returns those faults of a table that are not known to be dead.
func (d *Damage) alive(name string, faults []sst.Fault) []sst.Fault {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if t := d.mu.tables[name]; t != nil {
		for i := range t.faults {
			if t.faults[i].Empty != nil {
				markDead(faults, &t.faults[i])
			}
		}
	}
	return slices.DeleteFunc(faults, func(f sst.Fault) bool { return f.Empty != nil })
}

// losses returns the faults that may still become dead, by table. turn changes when there may be new ones.
func (d *Damage) losses() (found map[string][]sst.Fault, turn int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	found = map[string][]sst.Fault{}
	for name, t := range d.mu.tables {
		for i := range t.faults {
			if f := &t.faults[i]; f.Rows && f.Empty == nil || f.Vital {
				found[name] = append(found[name], *f)
			}
		}
	}
	return found, d.mu.turn
}

// Within reports whether there is damage in a range of keys.
func (d *Damage) Within(r keys.Span) bool {
	if !d.some.Load() {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, t := range d.mu.tables {
		for i := range t.faults {
			if k := t.faults[i].Keys; len(k.End) > 0 && r.StartsBefore(keys.Of(k)) && keys.Of(k).StartsBefore(r) {
				return true
			}
		}
	}
	return false
}

// nextDead returns a channel that is closed when more faults are found to be dead.
func (d *Damage) nextDead() <-chan struct{} {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.foundDead
}

// known returns the sorted names of the damaged tables, without those whose damage is all dead.
func (d *Damage) known() (names []string, blocks int) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for name, t := range d.mu.tables {
		alive := 0
		for i := range t.faults {
			if t.faults[i].Empty == nil {
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

// hit returns the damaged piece that a read of a table would meet, and the table's level.
func (d *Damage) hit(name string, begin, end int64) (f sst.Fault, level int, found bool) {
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
		if begin < f.End && f.Begin < end {
			return f, t.level, true
		}
	}
	return f, 0, false
}

// Listen makes Pebble report damage.
func (d *Damage) Listen(l *pebble.EventListener) {
	l.DataCorruption = func(info pebble.DataCorruptionInfo) { d.Meet(filepath.Base(info.Path)) }
	l.WriteStallEnd = func() { d.Full.Store(false) }
	l.TableDeleted = func(info pebble.TableDeleteInfo) {
		if d.some.Load() && info.Err == nil {
			d.inspected(filepath.Base(info.Path), 0, nil)
		}
	}
}

// MayFlush reports whether level 0 has fewer than limit overlapping tables, for a flush that no write requires. A
// compaction of level 0 in a damaged store may wait until the inspector finds a block dead, and the inspector must
// not wait for space in level 0 in turn.
func (d *Damage) MayFlush(db *pebble.DB, limit int32) bool {
	return !d.some.Load() || db.Metrics().Levels[0].Sublevels < limit
}

// damageHint tells the operator what to do about damage.
const damageHint = "`divan verify` names the databases and documents; `divan export -skip-damaged` saves all that " +
	"can be read of a database. Then delete the databases and import them again: the store drops a " +
	"damaged block once everything that it may have held is deleted. A block that is still there after a minute may " +
	"hold other data too: save all databases and import them into a node with a new data directory, or restore " +
	"a backup"

// Degraded returns the reasons why the operator is needed, for kv.Degrader.
func (d *Damage) Degraded(dir string) (reasons []string) {
	if what := d.vital(); len(what) > 0 {
		reasons = append(reasons, fmt.Sprintf("store_damaged: in the store %s, %s; it works until this "+
			"node stops and cannot be opened afterwards: save each database with `divan export` now, and import them "+
			"into a new store, or bring back the original files",
			dir, strings.Join(what, "; ")))
	}
	if !d.some.Load() {
		return reasons
	}
	names, blocks := d.known()
	if len(names) == 0 {
		return reasons
	}
	what := fmt.Sprintf("%d files of the store in %s are damaged, the first is %s", len(names), dir, names[0])
	if len(names) == 1 {
		what = fmt.Sprintf("the file %s of the store in %s is damaged", names[0], dir)
	}
	if blocks > 0 {
		what += fmt.Sprintf(" (blocks: %d)", blocks)
	}
	return append(reasons,
		"store_damaged: "+what+"; its content there cannot be read, everything else can; "+damageHint)
}

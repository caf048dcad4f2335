package embedded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// inspector looks at the damage that reads meet: how much of a table is damaged, and whether anybody can miss it.
type inspector struct {
	store    *store
	damage   *damage
	space    *space
	readOnly bool
	leftOut  map[string]bool // tables that are left out where the store is read as far as that goes

	allHeld func() bool        // see compactions
	cleared func(spans []span) // has ranges compacted that hold nothing but dead blocks

	beforeFlush func() // nil but in tests, see Options
}

// refuseStalled refuses writes where they wait for a compaction that cannot come to an end.
func (in *inspector) refuseStalled() {
	if !in.damage.full.Load() {
		return
	}
	if table := in.damage.stuck(); table != "" {
		in.store.fail(fmt.Errorf("the table %s has lost its index, so that nothing can be compacted, and level 0 is full; %s", table, damageHint))
	}
}

// refuseHeld refuses writes where level 0 is full and every compaction waits for a damaged block. Nothing can be
// flushed then, so that no clearing that is still to come makes the block dead. The inspector calls it after it has
// looked for dead blocks; held is whether the last call found it so, too, and no snapshot can still make a block dead.
// Once does not count, since a compaction may be about to begin.
func (in *inspector) refuseHeld(held bool) bool {
	if !in.damage.full.Load() || !in.allHeld() {
		return false
	}
	if held {
		in.failHeld()
	}
	return true
}

// failHeld refuses writes because level 0 is full and cannot be compacted.
func (in *inspector) failHeld() {
	names, _ := in.damage.known()
	in.store.fail(fmt.Errorf("level 0 is full, and its compaction needs what is damaged in %s; %s",
		strings.Join(names, ", "), damageHint))
}

// run is the inspector's goroutine.
func (in *inspector) run() {
	ctx, cancel := in.store.untilStop()
	defer cancel()
	tick := time.NewTicker(inspectPeriod)
	defer tick.Stop()
	var dead deadTried
	held := false
	for {
		ticked := false
		select {
		case <-in.store.stop:
			return
		case <-in.damage.wake:
		case err := <-dead.ended():
			dead.flushed(ctx, in, err)
		case <-tick.C:
			ticked = true
		}
		for _, name := range in.damage.takeMet() {
			if err := in.inspectTable(name); err != nil && !in.store.closing.Load() {
				in.store.log.Error("a table of the store is damaged and cannot be read", "table", name, "error", err)
			}
		}
		dead.look(ctx, in)
		if ticked {
			held = in.refuseHeld(held && !dead.hopeful())
		}
	}
}

// inspectPeriod is how often the inspector looks whether what is damaged was deleted meanwhile.
const inspectPeriod = time.Second

// inspectTable reads a table in which damage was met, and says what it found.
func (in *inspector) inspectTable(name string) error {
	tables, err := tablesOf(in.store.db.Load())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tables, func(t table) bool { return t.name == name })
	if i < 0 {
		in.damage.inspected(name, 0, nil) // compacted away meanwhile
		return nil
	}
	faults, _, err := checkTable(context.Background(), in.store.fs, in.store.dir, &tables[i], func(int64) error {
		if in.store.closing.Load() {
			return errClosed
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		in.store.log.Warn("a block of a table could not be read, and can be now: the disk, the memory or a cable may be failing", "table", name)
		in.damage.inspected(name, 0, nil)
		return nil
	}
	if faults, err = in.alive(&tables[i], faults); err != nil {
		return err
	}
	if len(faults) > 0 {
		in.store.log.Error("the store is damaged: what a block held cannot be read, everything else can", "table", name,
			"what", faults[0].What, "blocks", len(faults), "hint", damageHint)
	}
	in.refuseStalled()
	return nil
}

// alive notes the faults of a table, and leaves those that anybody could miss something of.
func (in *inspector) alive(t *table, faults []tableFault) ([]tableFault, error) {
	in.damage.inspected(t.name, t.level, slices.Clone(faults))
	losses, _ := in.damage.losses()
	if len(losses[t.name]) > 0 {
		if _, err := in.findDead(map[string][]tableFault{t.name: losses[t.name]}); err != nil {
			return nil, err
		}
	}
	return in.damage.alive(t.name, faults), nil
}

// filled marks the faults that reads pass over, see fillGaps. It is false where there are none.
func (in *inspector) filled(name string, faults []tableFault) bool {
	if in.leftOut == nil {
		return false
	}
	for i := range faults {
		f := &faults[i]
		known, _, found := in.damage.hit(name, f.begin, f.end)
		f.LeftOut = in.leftOut[name] || found && known.instead != nil
	}
	return true
}

// fillGaps reads all tables, and has Pebble read something else where they are damaged: blocks without rows, and
// filters that all keys pass. It returns the tables where that does not help, because their end or their index is
// damaged: Pebble cannot open those, or cannot find anything in them, and every read of a key that such a table might
// have fails. That may be all keys of the store for a table of a few rows.
func (in *inspector) fillGaps() (lost []table, err error) {
	tables, err := tablesOf(in.store.db.Load())
	if err != nil {
		return nil, err
	}
	for i := range tables {
		t := &tables[i]
		faults, err := fillTable(in.store.fs, in.store.dir, t)
		if err != nil {
			return nil, fmt.Errorf("embedded: read %s: %w", t.name, err)
		}
		if slices.ContainsFunc(faults, func(f tableFault) bool { return f.vital }) {
			lost = append(lost, *t)
			continue
		}
		if len(faults) > 0 {
			in.damage.inspected(t.name, t.level, faults)
		}
	}
	return lost, nil
}

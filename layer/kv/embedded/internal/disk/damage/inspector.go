package damage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/room"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
)

// Inspector examines the damage that reads meet: how much of a table is damaged, and whether the data is still
// needed.
type Inspector struct {
	Store    *store.Store
	Damage   *Damage
	Space    *room.Space
	ReadOnly bool
	LeftOut  map[string]bool // tables that are left out when a damaged store is read (salvage)

	AllHeld func() bool             // see compact.Scheduler
	Cleared func(spans []keys.Span) // has ranges compacted that hold nothing but dead blocks

	BeforeFlush func() // nil except in tests, see Options
}

// RefuseStalled refuses writes if they wait for a compaction that can never finish.
func (in *Inspector) RefuseStalled() {
	if !in.Damage.Full.Load() {
		return
	}
	if table := in.Damage.stuck(); table != "" {
		in.Store.Fail(fmt.Errorf("the table %s has lost its index, so nothing can be compacted, and level 0 "+
			"is full; %s", table, damageHint))
	}
}

// refuseHeld refuses writes if level 0 is full and every compaction waits for a damaged block. Nothing can be flushed
// then, so that no later clear can make the block dead. The inspector calls it after it has searched for dead blocks.
// held says that the last call found the same, and that no snapshot can still make a block dead; a single finding
// does not count, since a compaction may be about to begin.
func (in *Inspector) refuseHeld(held bool) bool {
	if !in.Damage.Full.Load() || !in.AllHeld() {
		return false
	}
	if held {
		in.FailHeld()
	}
	return true
}

// FailHeld refuses writes because level 0 is full and cannot be compacted.
func (in *Inspector) FailHeld() {
	names, _ := in.Damage.known()
	in.Store.Fail(fmt.Errorf("level 0 is full, and its compaction needs damaged blocks of %s; %s",
		strings.Join(names, ", "), damageHint))
}

// Run is the inspector's goroutine.
func (in *Inspector) Run() {
	ctx, cancel := in.Store.UntilStop()
	defer cancel()
	tick := time.NewTicker(inspectPeriod)
	defer tick.Stop()
	var dead deadTried
	held := false
	for {
		ticked := false
		select {
		case <-in.Store.Stop:
			return
		case <-in.Damage.wake:
		case err := <-dead.ended():
			dead.flushed(ctx, in, err)
		case <-tick.C:
			ticked = true
		}
		for _, name := range in.Damage.takeMet() {
			if err := in.inspectTable(name); err != nil && !in.Store.Closing.Load() {
				in.Store.Log.Error("a table of the store is damaged and cannot be read", "table", name, "error", err)
			}
		}
		dead.look(ctx, in)
		if ticked {
			held = in.refuseHeld(held && !dead.mayFindDead())
		}
	}
}

// inspectPeriod is how often the inspector checks whether damaged data was deleted meanwhile.
const inspectPeriod = time.Second

// inspectTable reads a table in which damage was met, and logs what it found.
func (in *Inspector) inspectTable(name string) error {
	tables, err := sst.List(in.Store.DB.Load())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(tables, func(t sst.Table) bool { return t.Name == name })
	if i < 0 {
		in.Damage.inspected(name, 0, nil) // compacted away meanwhile
		return nil
	}
	faults, _, err := sst.Check(context.Background(), in.Store.FS, in.Store.Dir, &tables[i], func(int64) error {
		if in.Store.Closing.Load() {
			return failure.ErrClosed
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		in.Store.Log.Warn("a block of a table could not be read, but now it can: the disk, the memory or a cable "+
			"may be failing", "table", name)
		in.Damage.inspected(name, 0, nil)
		return nil
	}
	if faults, err = in.Alive(&tables[i], faults); err != nil {
		return err
	}
	if len(faults) > 0 {
		in.Store.Log.Error("the store is damaged: a block cannot be read, everything else can", "table", name,
			"what", faults[0].What, "blocks", len(faults), "hint", damageHint)
	}
	in.RefuseStalled()
	return nil
}

// Alive records the faults of a table, and returns those whose data may still be needed.
func (in *Inspector) Alive(t *sst.Table, faults []sst.Fault) ([]sst.Fault, error) {
	in.Damage.inspected(t.Name, t.Level, slices.Clone(faults))
	losses, _ := in.Damage.losses()
	if len(losses[t.Name]) > 0 {
		if _, err := in.findDead(map[string][]sst.Fault{t.Name: losses[t.Name]}); err != nil {
			return nil, err
		}
	}
	return in.Damage.alive(t.Name, faults), nil
}

// Filled marks the faults that reads skip, see FillGaps. It returns false if nothing was filled.
func (in *Inspector) Filled(name string, faults []sst.Fault) bool {
	if in.LeftOut == nil {
		return false
	}
	for i := range faults {
		f := &faults[i]
		known, _, found := in.Damage.hit(name, f.Begin, f.End)
		f.LeftOut = in.LeftOut[name] || found && known.Instead != nil
	}
	return true
}

// FillGaps reads all tables and gives Pebble substitutes for damaged parts: blocks without rows, and filters that all
// keys pass. It returns the tables for which that does not help because their end or index is damaged: Pebble cannot
// open them or find anything in them, and every read of a key in such a table's range fails. That may be all keys of
// the store for a table of a few rows.
func (in *Inspector) FillGaps() (lost []sst.Table, err error) {
	tables, err := sst.List(in.Store.DB.Load())
	if err != nil {
		return nil, err
	}
	for i := range tables {
		t := &tables[i]
		faults, err := sst.Fill(in.Store.FS, in.Store.Dir, t)
		if err != nil {
			return nil, fmt.Errorf("embedded: read %s: %w", t.Name, err)
		}
		if slices.ContainsFunc(faults, func(f sst.Fault) bool { return f.Vital }) {
			lost = append(lost, *t)
			continue
		}
		if len(faults) > 0 {
			in.Damage.inspected(t.Name, t.Level, faults)
		}
	}
	return lost, nil
}

package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// progressEvery is the number of bytes between progress reports of Verify.
const progressEvery = 4 << 20

// Verify implements kv.Verifier. Tables that are compacted away meanwhile are skipped, and new tables are read too.
func (e *Engine) Verify(ctx context.Context, o kv.VerifyOptions) (kv.Verified, error) {
	v := verification{e: e, ctx: ctx, o: o, done: map[string]bool{}}
	if err := v.written(); err != nil {
		return v.found, err
	}
	for {
		more, err := v.tables()
		if err != nil || !more {
			return v.found, err
		}
	}
}

// verification is one run of Verify.
type verification struct {
	e     *Engine
	ctx   context.Context
	o     kv.VerifyOptions
	found kv.Verified
	done  map[string]bool
	total int64
	told  int64 // bytes reported so far
}

// written compares the logs and manifests with the horizon.
func (v *verification) written() error {
	if v.e.reading != nil {
		for _, f := range v.e.reading.lacks {
			if err := v.o.Fault(f); err != nil {
				return err
			}
		}
	}
	if v.e.reading == nil && !v.e.space.Opening.Load() {
		if err := v.e.guard.ReplaceLogs(v.ctx); err != nil {
			return err
		}
	}
	h := v.e.horizon
	m := h.Mark()
	for _, p := range m.Files {
		if horizon.IsManifest(p.Name) && p.Name != m.Manifest {
			continue // no start reads it
		}
		what, err := h.Compare(p)
		if !h.Marks(p.Name) {
			continue // it is gone by now
		}
		v.found.Files++
		switch {
		case failure.IsDamage(err):
			what = err.Error()
		case err != nil:
			return failure.ExplainDenied(err)
		}
		v.e.damage.SetVital(p.Name, what)
		if what == "" {
			v.found.Bytes += int64(p.Size)
		} else if err := v.o.Fault(kv.Fault{File: p.Name, What: what}); err != nil {
			return err
		}
	}
	if v.e.reading != nil {
		return nil
	}
	marker, what, err := h.Markers()
	if err != nil {
		return failure.ExplainDenied(err)
	}
	v.e.damage.SetVital("marker", what)
	if what == "" {
		return nil
	}
	return v.o.Fault(kv.Fault{File: marker, What: what})
}

// tables reads the current tables that have not been read yet.
func (v *verification) tables() (more bool, err error) {
	tables, err := sst.List(v.e.store.DB.Load())
	if err != nil {
		return false, err
	}
	v.total = v.found.Bytes
	for i := range tables {
		if k := v.o.Keys; k.End != nil && !tables[i].Overlaps(k) {
			v.done[tables[i].Name] = true
		}
		if !v.done[tables[i].Name] {
			v.total += tables[i].Size
			more = true
		}
	}
	for i := range tables {
		t := &tables[i]
		if v.done[t.Name] {
			continue
		}
		v.done[t.Name] = true
		if err := v.table(t); err != nil {
			return false, fmt.Errorf("embedded: read %s: %w", t.Name, err)
		}
	}
	return more, nil
}

func (v *verification) table(t *sst.Table) error {
	faults, blocks, err := sst.Check(v.ctx, v.e.store.FS, v.e.store.Dir, t, v.read)
	if err != nil {
		return failure.ExplainDenied(err)
	}
	if len(faults) > 0 {
		there, err := v.there(t)
		if err != nil || !there {
			return err
		}
		if !v.e.inspector.Filled(t.Name, faults) {
			if faults, err = v.e.inspector.Alive(t, faults); err != nil {
				return err
			}
		}
	}
	v.found.Files++
	v.found.Blocks += blocks
	for i := range faults {
		if err := v.o.Fault(faults[i].Fault); err != nil {
			return err
		}
	}
	return nil
}

// there reports whether a table is still in the store: its file may be gone after a compaction.
func (v *verification) there(t *sst.Table) (bool, error) {
	tables, err := sst.List(v.e.store.DB.Load())
	if err != nil {
		return false, err
	}
	for i := range tables {
		if tables[i].Name == t.Name {
			return true, nil
		}
	}
	return false, nil
}

// read records that n bytes were read.
func (v *verification) read(n int64) error {
	v.found.Bytes += n
	if v.e.store.Closing.Load() {
		return failure.ErrClosed
	}
	if v.o.Progress != nil && v.found.Bytes-v.told >= progressEvery {
		v.told = v.found.Bytes
		v.o.Progress(v.found.Bytes, max(v.total, v.found.Bytes))
	}
	return nil
}

// checkCopy reads a copy of the store. If anything in it is damaged, the error has CodeFileCorrupt and names the
// first faults.
func (e *Engine) checkCopy(ctx context.Context, dir string) error {
	c, err := OpenReadOnly(dir, Options{CacheBytes: 8 << 20, Logger: slog.New(slog.DiscardHandler), fs: e.store.FS},
		false)
	if err != nil {
		return fmt.Errorf("embedded: the copy cannot be opened: %w", err)
	}
	var faults []string
	_, err = c.Verify(ctx, kv.VerifyOptions{Fault: func(f kv.Fault) error {
		faults = append(faults, f.String())
		e.damage.Meet(f.File) // the table has the same name in the store
		return nil
	}})
	if err = errors.Join(err, c.Close()); err != nil {
		return fmt.Errorf("embedded: the copy cannot be read back: %w", err)
	}
	if len(faults) == 0 {
		return nil
	}
	const few = 5
	what := strings.Join(faults[:min(few, len(faults))], "; ")
	if n := len(faults) - few; n > 0 {
		what += fmt.Sprintf("; and %d more", n)
	}
	return kv.NewError(kv.CodeFileCorrupt, "the store and its copy are damaged: "+what, nil)
}

package embedded

import (
	"context"
	"fmt"
	"hash/crc32"

	"github.com/divandb/divan/layer/kv"
)

// progressEvery is after how many bytes Verify tells how far it is.
const progressEvery = 4 << 20

// Verify implements kv.Verifier. Tables that are compacted away meanwhile are left out, and those that are made meanwhile are read too.
func (e *Engine) Verify(ctx context.Context, o kv.VerifyOptions) (kv.Verified, error) {
	v := verification{e: e, ctx: ctx, o: o, done: map[string]bool{}}
	if err := v.manifest(); err != nil {
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
	told  int64 // bytes that were told
}

// manifest compares what was written to the newest manifest since the store was opened with what is there.
func (v *verification) manifest() error {
	was := v.e.guard.manifests.newest()
	if was.name == "" {
		return nil // opening it has read it
	}
	h := horizon{fs: v.e.o.fs, dir: v.e.dir}
	b, err := h.readFile(was.name, int64(was.size))
	if v.e.guard.manifests.newest().name != was.name {
		return nil // it has been replaced since
	}
	v.found.Files++
	if err != nil && !isDamage(err) && !isCut(err) {
		return explainDenied(err)
	}
	if err != nil || crc32.Checksum(b, castagnoli) != was.sum {
		return v.o.Fault(kv.Fault{File: was.name, What: "the list of tables, as it was written"})
	}
	v.found.Bytes += int64(len(b))
	return nil
}

// tables reads the tables that there are and have not been read yet.
func (v *verification) tables() (more bool, err error) {
	tables, err := tablesOf(v.e.db)
	if err != nil {
		return false, err
	}
	v.total = v.found.Bytes
	for i := range tables {
		if !v.done[tables[i].name] {
			v.total += tables[i].size
			more = true
		}
	}
	for i := range tables {
		t := &tables[i]
		if v.done[t.name] {
			continue
		}
		v.done[t.name] = true
		if err := v.table(t); err != nil {
			return false, fmt.Errorf("embedded: read %s: %w", t.name, err)
		}
	}
	return more, nil
}

func (v *verification) table(t *table) error {
	faults, blocks, err := checkTable(v.ctx, v.e.o.fs, v.e.dir, t, v.read)
	if err != nil {
		return explainDenied(err)
	}
	if len(faults) > 0 {
		there, err := v.there(t)
		if err != nil || !there {
			return err
		}
		v.e.damage.inspected(t.name, t.level, faults)
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

// there reports whether a table still is one of the store: its file may be gone because it was compacted away.
func (v *verification) there(t *table) (bool, error) {
	tables, err := tablesOf(v.e.db)
	if err != nil {
		return false, err
	}
	for i := range tables {
		if tables[i].name == t.name {
			return true, nil
		}
	}
	return false, nil
}

// read notes that n bytes were read.
func (v *verification) read(n int64) error {
	v.found.Bytes += n
	if v.e.closing.Load() {
		return errClosed
	}
	if v.o.Progress != nil && v.found.Bytes-v.told >= progressEvery {
		v.told = v.found.Bytes
		v.o.Progress(v.found.Bytes, max(v.total, v.found.Bytes))
	}
	return nil
}

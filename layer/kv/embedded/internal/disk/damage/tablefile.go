package damage

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/divandb/divan/layer/kv/embedded/internal/disk/sst"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// tableFS is a vfs.FS between Pebble and the disk, for tables. It tracks which of their blocks are damaged and does
// not read those again: Pebble would search for a flipped bit each time, for seconds if the block is large.
type tableFS struct {
	vfs.FS
	d *Damage
}

// NewFS wraps fs for Pebble.
func NewFS(fs vfs.FS, d *Damage) vfs.FS { return tableFS{fs, d} }

// Open implements vfs.FS.
func (fs tableFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return f, err
	}
	t := tableFile{File: f, name: fs.PathBase(name), d: fs.d}
	for _, o := range opts {
		t.compaction = t.compaction || o == vfs.SequentialReadsOption
	}
	return t, nil
}

// List implements vfs.FS.
func (fs tableFS) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	if err != nil {
		return nil, err
	}
	return dropUnusableOptions(fs.FS, dir, names), nil
}

// TellCompactions makes Pebble open tables with vfs.SequentialReadsOption for compactions only. Other reads rely on
// the system's read-ahead.
func TellCompactions(po *pebble.Options) {
	po.Local.ReadaheadConfig = objstorageprovider.NewReadaheadConfig()
	po.Local.ReadaheadConfig.Set(objstorageprovider.FadviseSequential, objstorageprovider.SysReadahead)
}

// Unwrap implements vfs.FS.
func (fs tableFS) Unwrap() vfs.FS { return fs.FS }

// keepWaiting is how long a compaction that cannot succeed is kept waiting.
const keepWaiting = 10 * time.Minute

// tableFile is a table that Pebble reads.
type tableFile struct {
	vfs.File
	name       string
	d          *Damage
	compaction bool // opened by a compaction, see TellCompactions
}

// ReadAt fails at once if the inspector has found damage in that part.
//
// If a compaction from level 0 failed, Pebble would pick the same one again and again, and nothing else would leave
// level 0, until writes wait for ever. Instead it is kept waiting here, with the tables that it needs, while other
// compactions continue with the others. It continues when the damaged block is found to be dead. It is released now
// and then, because the obsolete files that it uses are not removed before.
func (f tableFile) ReadAt(p []byte, off int64) (int, error) {
	if fault, found := f.meet(off, off+int64(len(p))); found {
		instead := fault.Instead
		if fault.Empty != nil && f.compaction {
			instead = fault.Empty()
		}
		if i := off - fault.Begin; instead != nil && i >= 0 && i+int64(len(p)) <= int64(len(instead)) {
			return copy(p, instead[i:]), nil
		}
		return 0, fmt.Errorf("%w: table %s: %s", pebble.ErrCorruption, f.name, fault.What)
	}
	n, err := f.File.ReadAt(p, off)
	if errors.Is(err, syscall.EIO) {
		err = fmt.Errorf("%w: table %s: %w", pebble.ErrCorruption, f.name, err)
	}
	return n, err
}

// meet returns the damage in a part of the file. Reads of compactions may wait first.
func (f tableFile) meet(begin, end int64) (fault sst.Fault, found bool) {
	var over <-chan time.Time
	for {
		foundDead := f.d.nextDead()
		fault, level, found := f.d.hit(f.name, begin, end)
		if !found || fault.Instead != nil || fault.Empty != nil || !f.compaction || level > 0 {
			return fault, found
		}
		if over == nil {
			over = time.After(keepWaiting)
			f.d.Waiting.Add(1)
			defer f.d.Waiting.Add(-1)
		}
		select {
		case <-foundDead:
			continue
		case <-f.d.Closing:
		case <-over:
		}
		return fault, true
	}
}

// OptionsFile is the prefix of the files in which Pebble records its options.
const OptionsFile = "OPTIONS-"

// dropUnusableOptions removes the newest options file from the names in a directory if it cannot be used. It holds no
// data, and Pebble works without it and writes a new one; but Pebble would not open a store with a damaged one.
func dropUnusableOptions(fs vfs.FS, dir string, names []string) []string {
	newest := ""
	for _, name := range names {
		if strings.HasPrefix(name, OptionsFile) &&
			(len(name) > len(newest) || len(name) == len(newest) && name > newest) {
			newest = name
		}
	}
	if newest == "" || usableOptions(fs, dir, newest) {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == newest })
}

func usableOptions(fs vfs.FS, dir, name string) bool {
	f, err := fs.Open(fs.PathJoin(dir, name))
	if err != nil {
		return !failure.IsDamage(err) // Pebble meets other errors too, and reports them
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return !failure.IsDamage(err)
	}
	o := &pebble.Options{}
	o.EnsureDefaults()
	return o.CheckCompatibility(dir, string(b)) == nil
}

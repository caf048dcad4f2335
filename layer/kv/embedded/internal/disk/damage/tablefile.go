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

// tableFS stands between Pebble and the disk for tables. It knows which of their blocks are damaged, and does not read
// those again: Pebble would look for a flipped bit each time, for seconds where the block is a large one.
type tableFS struct {
	vfs.FS
	d *Damage
}

// NewFS is fs for Pebble.
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

// TellCompactions has Pebble open tables with vfs.SequentialReadsOption for compactions alone. For others the system's
// own reading ahead does.
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
	compaction bool // see tellCompactions
}

// ReadAt fails at once where the inspector found damage.
//
// A compaction from level 0 that fails would be picked again at once, and again: nothing else would leave level 0,
// until writes wait for ever. It is kept waiting here instead, with the tables that it needs, and other compactions go
// on with the others. It is let go now and then, since the files that it began with are not removed before, and goes on
// when the damaged block is found to be dead.
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

// meet is the damage in a part of the file, after a wait where the read is one that has to wait.
func (f tableFile) meet(begin, end int64) (fault sst.Fault, found bool) {
	var over <-chan time.Time
	for {
		buried := f.d.nextBurial()
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
		case <-buried:
			continue
		case <-f.d.Closing:
		case <-over:
		}
		return fault, true
	}
}

// OptionsFile is how the names of the files begin in which Pebble records its options.
const OptionsFile = "OPTIONS-"

// dropUnusableOptions removes the newest record of Pebble's options from the names in a directory where it cannot be
// used. It holds no data, and Pebble does without it and writes another one; it would not open a store with a damaged
// one.
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
		return !failure.IsDamage(err) // Pebble meets it as well, and tells of it
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return !failure.IsDamage(err)
	}
	o := &pebble.Options{}
	o.EnsureDefaults()
	return o.CheckCompatibility(dir, string(b)) == nil
}

package embedded_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// The disk is full or not writable, for each kind of file: commits fail, reads work, and once there is space
// everything continues in the same engine. No acknowledged data is missing, then and after a power cut.
func TestEngine_fullDisk(t *testing.T) {
	isLog := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
	isManifest := func(op errorfs.Op) bool { return strings.Contains(op.Path, "MANIFEST") }
	isTable := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".sst") }
	isSync := func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}
	isWrite := func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt }
	isCreate := func(op errorfs.Op) bool { return op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite }
	tests := map[string]struct {
		fails func(op errorfs.Op) bool
		err   error
		code  kv.Code
	}{
		"log": {func(op errorfs.Op) bool {
			return isLog(op) && isWrite(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"log sync": {func(op errorfs.Op) bool {
			return isLog(op) && isSync(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"log over quota": {func(op errorfs.Op) bool {
			return isLog(op) && isWrite(op)
		}, syscall.EDQUOT, kv.CodeDiskFull},
		"new log": {func(op errorfs.Op) bool {
			return isLog(op) && isCreate(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"new log refused": {func(op errorfs.Op) bool {
			return isLog(op) && isCreate(op)
		}, syscall.EACCES, kv.CodeUnwritable},
		"table": {func(op errorfs.Op) bool {
			return isTable(op) && isWrite(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"table sync": {func(op errorfs.Op) bool {
			return isTable(op) && isSync(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"table refused": {func(op errorfs.Op) bool {
			return isTable(op) && isCreate(op)
		}, syscall.EROFS, kv.CodeUnwritable},
		"new table": {func(op errorfs.Op) bool {
			return isTable(op) && isCreate(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"manifest": {func(op errorfs.Op) bool {
			return isManifest(op) && isWrite(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"manifest sync": {func(op errorfs.Op) bool {
			return isManifest(op) && isSync(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
		"everything": {func(op errorfs.Op) bool {
			return isWrite(op) || isSync(op) || isCreate(op)
		}, syscall.ENOSPC, kv.CodeDiskFull},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := newCrashDisk()
			var full errorfs.Toggle
			full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
				if tt.fails(op) {
					return &os.PathError{Op: "injected", Path: op.Path, Err: tt.err}
				}
				return nil
			})
			options := embedded.Options{Logger: quiet(t), MemTableBytes: 64 << 10}
			e, err := embedded.Open("/store", options.WithFS(errorfs.Wrap(disk, &full)))
			if err != nil {
				t.Fatal(err)
			}
			l := newLedger(4)
			begun := make(chan struct{}, 4*1000)
			done := make(chan error)
			go func() {
				done <- l.run(t.Context(), e, func(int, int64) {
					select {
					case begun <- struct{}{}:
					default:
					}
				})
			}()
			for range 20 {
				<-begun
			}
			full.On()
			if err := <-done; err != nil {
				t.Fatalf("the workers ended with %v", err)
			}
			p := l.promised()
			p.begun = l.begun()
			if err := commit(t, e); !kv.IsCode(err, tt.code) || kv.Retryable(err) {
				t.Errorf("a commit on a full disk: %v", err)
			}
			if err := e.Failed(); err != nil {
				t.Errorf("failed: %v", err)
			}
			if reasons := e.Degraded(); len(reasons) != 1 {
				t.Errorf("degraded: %q", reasons)
			}
			after := disk.CrashClone(vfs.CrashCloneCfg{}) // the state after a power cut
			full.Off()
			for err = commit(t, e); err != nil; err = commit(t, e) {
				if !kv.IsCode(err, tt.code) {
					t.Fatalf("a commit after space may have been freed: %v", err)
				}
				if t.Context().Err() != nil {
					t.Fatal("commits never resume")
				}
			}
			if err := l.verify(t.Context(), e, p); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			for _, fs := range []vfs.FS{after, disk} {
				e, err := embedded.Open("/store", options.WithFS(fs))
				if err != nil {
					t.Fatal(err)
				}
				if err := l.verify(t.Context(), e, p); err != nil {
					t.Error(err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func commit(t *testing.T, e kv.Engine) error {
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	tx.Set([]byte("a"), nil)
	return tx.Commit()
}

// A store is opened while the disk has no space for one of the files that opening writes: it can be read, and written
// once there is space.
func TestEngine_openOnFullDisk(t *testing.T) {
	for _, c := range []struct {
		part string
		op   errorfs.OpKind
	}{
		{".dbtmp", errorfs.OpCreate}, {".dbtmp", errorfs.OpFileWrite}, {"MANIFEST", errorfs.OpCreate},
		{"MANIFEST", errorfs.OpFileWrite},
		{".log", errorfs.OpCreate}, {"marker.", errorfs.OpCreate},
	} {
		t.Run(fmt.Sprint(c.part, c.op), func(t *testing.T) {
			t.Parallel()
			var full errorfs.Toggle
			full.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == c.op && strings.Contains(op.Path, c.part) {
					return &os.PathError{Op: "injected", Path: op.Path, Err: syscall.ENOSPC}
				}
				return nil
			})
			options := embedded.Options{Logger: quiet(t)}.WithFS(errorfs.Wrap(vfs.NewMem(), &full))
			e, err := embedded.Open("/store", options)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(commit(t, e), e.Close()); err != nil {
				t.Fatal(err)
			}
			full.On()
			if e, err = embedded.Open("/store", options); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			}()
			tx := e.Begin(t.Context())
			defer tx.Cancel()
			if v, err := tx.Get([]byte("a")).Wait(); err != nil || v == nil {
				t.Errorf("read %v, %v", v, err)
			}
			if err := commit(t, e); !kv.IsCode(err, kv.CodeDiskFull) {
				t.Errorf("a commit on a full disk: %v", err)
			}
			full.Off()
			for err = commit(t, e); err != nil; err = commit(t, e) {
				if !kv.IsCode(err, kv.CodeDiskFull) || t.Context().Err() != nil {
					t.Fatalf("a commit after space was freed: %v", err)
				}
			}
		})
	}
}

// fillingDisk is a file system that reports free as its free space.
type fillingDisk struct {
	vfs.FS
	free *atomic.Uint64
}

func (d fillingDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	const total = 256 << 20
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: total, UsedBytes: total - d.free.Load()}, nil
}

func (d fillingDisk) Unwrap() vfs.FS { return d.FS }

// A store without writes detects that its disk is full, and that there is space again.
func TestEngine_fullDiskUnasked(t *testing.T) {
	var free atomic.Uint64
	var log logged
	free.Store(200 << 20)
	disk := fillingDisk{vfs.NewMem(), &free}
	e, err := embedded.Open("/store", embedded.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}.WithFS(disk))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := commit(t, e); err != nil {
		t.Fatal(err)
	}
	// What is told before writes are refused, what is told then, and the log have the same limits.
	const limits = "writes are refused below 33.6 MB and go on from 41.9 MB"
	until := func(full bool) {
		t.Helper()
		for is := !full; is != full; {
			if t.Context().Err() != nil {
				t.Fatalf("degraded: %v", e.Degraded())
			}
			is = slices.ContainsFunc(e.Degraded(), func(r string) bool { return strings.HasPrefix(r, "disk_full: ") })
			runtime.Gosched()
		}
	}
	until(false)
	if text, low := e.DiskLow(); low {
		t.Errorf("with 200 MB left: %s", text)
	}
	free.Store(70 << 20)
	for low := false; !low; {
		var text string
		if text, low = e.DiskLow(); low && (!strings.Contains(text, "73.4 of 268.4 MB left, 73.") ||
			!strings.HasSuffix(text, " MB of it for writes, without what compactions need; "+limits)) {
			t.Errorf("low: %s", text)
		}
		if t.Context().Err() != nil {
			t.Fatal("the disk is never low")
		}
		runtime.Gosched()
	}
	if d := e.Degraded(); len(d) > 0 {
		t.Errorf("with 70 MB left: %v", d)
	}
	free.Store(24 << 20) // an eighth of the disk is 32 MB
	until(true)
	if got := e.Degraded()[0]; !strings.Contains(got, "25.2 of 268.4 MB left, 25.") || !strings.Contains(got, limits) {
		t.Errorf("full: %s", got)
	}
	for log.with("writes are refused") == 0 && t.Context().Err() == nil { // it is logged afterwards
		runtime.Gosched()
	}
	if log.with("writes are refused") != 1 || log.with(" refused_below=33554432 accepted_from=41943040") != 1 {
		t.Errorf("logged: %s", log.lines)
	}
	if err := commit(t, e); !kv.IsCode(err, kv.CodeDiskFull) {
		t.Errorf("a commit on a full disk: %v", err)
	}
	free.Store(200 << 20)
	until(false)
	if err := commit(t, e); err != nil {
		t.Error(err)
	}
}

// unwatchedDisk is a disk at which the store cannot look now and then before opened is closed, as if it had no time.
type unwatchedDisk struct {
	fillingDisk
	opened chan struct{}
	looked *atomic.Bool // the store has tried to
}

func (d unwatchedDisk) GetDiskUsage(dir string) (vfs.DiskUsage, error) {
	if strings.Contains(string(debug.Stack()), "room.(*Space).tend(") {
		d.looked.Store(true)
		<-d.opened
	}
	return d.fillingDisk.GetDiskUsage(dir)
}

// A store that is opened on a full disk says so as soon as it is open, and not only when it looks again.
func TestEngine_openKnowsFullDisk(t *testing.T) {
	var free atomic.Uint64
	fs := vfs.NewMem()
	for _, megabytes := range []uint64{200, 24} {
		free.Store(megabytes << 20)
		disk := unwatchedDisk{fillingDisk{fs, &free}, make(chan struct{}), new(atomic.Bool)}
		e, err := embedded.Open("/store", embedded.Options{Logger: quiet(t)}.WithFS(disk))
		if err != nil {
			t.Fatal(err)
		}
		full := slices.ContainsFunc(e.Degraded(), func(r string) bool { return strings.HasPrefix(r, "disk_full: ") })
		if full != (megabytes == 24) {
			t.Errorf("with %d MB left: %q", megabytes, e.Degraded())
		}
		for began := time.Now(); !disk.looked.Load(); time.Sleep(time.Millisecond) {
			if time.Since(began) > 20*time.Second {
				t.Fatal("nothing looks at the disk now and then, as this test expects")
			}
		}
		close(disk.opened)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

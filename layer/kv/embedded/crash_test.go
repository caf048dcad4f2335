package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// rounds returns the rounds of a crash test: the environment's number, or def.
func rounds(env string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil && n > 0 {
		return n
	}
	if testing.Short() {
		return max(1, def/10)
	}
	return def
}

// TestCrash_powerCut cuts the power repeatedly on one store: unsynced data is lost, completely or block by block.
// DIVAN_CRASH_ROUNDS sets how often (scripts/test crash).
func TestCrash_powerCut(t *testing.T) {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("DIVAN_CRASH_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("DIVAN_CRASH_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fs := newCrashDisk()
	l := newLedger(4)
	// Small memtables make many crashes fall into flushes and compactions.
	options := embedded.Options{Logger: quiet(t), MemTableBytes: 64 << 10}
	total := rounds("DIVAN_CRASH_ROUNDS", 300)
	for round := range total {
		e, err := embedded.Open("/store", options.WithFS(fs))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.run(ctx, e, nil) }()
		time.Sleep(time.Duration(rng.Int64N(int64(15 * time.Millisecond))))
		cfg := vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 0, 50, 90, 100}[rng.IntN(5)], RNG: rng}
		p := l.promised()
		after := fs.CrashClone(cfg)
		p.begun = l.begun()
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := e.Close(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if e, err = embedded.Open("/store", options.WithFS(after)); err != nil {
			t.Fatalf("round %d: open after the crash: %v", round, err)
		}
		if err := l.verify(t.Context(), e, p); err != nil {
			t.Fatalf("round %d, keeping %d%% of the unsynced data: %v", round, cfg.UnsyncedDataPercent, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		fs = after.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
	}
	steps := int64(0)
	for _, n := range l.promised().acked {
		steps += n
	}
	t.Logf("%d crashes, %d steps", total, steps)
	if steps < int64(total)/10 { // a busy machine gets one in about two rounds
		t.Errorf("only %d steps in %d rounds", steps, total)
	}
}

// TestCrash_powerCutInOpen cuts the power while a store is being opened after a power cut, which replays and removes
// logs and starts a manifest.
func TestCrash_powerCutInOpen(t *testing.T) {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("DIVAN_CRASH_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("DIVAN_CRASH_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	cut := func(fs *crashDisk) *crashDisk {
		return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 0, 50, 90, 100}[rng.IntN(5)], RNG: rng})
	}
	options := embedded.Options{Logger: quiet(t), MemTableBytes: 64 << 10}
	fs := newCrashDisk()
	written := 0
	for round := range rounds("DIVAN_CRASH_ROUNDS", 300) {
		opened := make(chan *embedded.Engine, 1)
		go func() {
			e, err := embedded.Open("/store", options.WithFS(fs))
			if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			opened <- e
		}()
		time.Sleep(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
		after := cut(fs)
		if e := <-opened; e == nil || e.Close() != nil {
			t.FailNow()
		}
		e, err := embedded.Open("/store", options.WithFS(after))
		if err != nil {
			t.Fatalf("round %d: open after the crash: %v", round, err)
		}
		for i := range min(written, 500) {
			if v := get(t, e, fmt.Sprintf("k%03d", i)); v == "" {
				t.Fatalf("round %d: k%03d of %d values is lost", round, i, written)
			}
		}
		for range rng.IntN(60) {
			set(t, e, fmt.Sprintf("k%03d", written%500), strings.Repeat("v", 1+rng.IntN(2000)))
			written++
		}
		fs = cut(after)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCrash_sigkill repeatedly kills a process that writes. DIVAN_KILL_ROUNDS sets how often (scripts/test crash).
func TestCrash_sigkill(t *testing.T) {
	if dir := os.Getenv("DIVAN_CRASH_CHILD"); dir != "" {
		crashChild(t, dir)
		return
	}
	dir := t.TempDir()
	l := newLedger(4)
	for round := range rounds("DIVAN_KILL_ROUNDS", 60) {
		p, err := killOne(t, dir, l.promised(), 1+round%5*40)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := l.verify(t.Context(), e, p); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killOne starts a child on the store, kills it shortly after its first acknowledgements, and returns what it had
// acknowledged.
func killOne(t *testing.T, dir string, p promise, lines int) (promise, error) {
	child := exec.Command(os.Args[0], "-test.run=^TestCrash_sigkill$", "-test.count=1")
	child.Env = append(os.Environ(), "DIVAN_CRASH_CHILD="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		return p, err
	}
	if err := child.Start(); err != nil {
		return p, err
	}
	read := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := read.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var w int
		var i int64
		if _, err := fmt.Sscanf(line, "acked %d %d\n", &w, &i); err == nil && strings.HasSuffix(line, "\n") {
			p.acked[w] = max(p.acked[w], i)
		}
		if n == lines {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			if err := child.Process.Kill(); err != nil {
				return p, err
			}
		}
	}
	err = child.Wait()
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		return p, fmt.Errorf("the child ended by itself: %w", err)
	}
	p.begun = make([]int64, len(p.acked))
	for w := range p.acked {
		p.begun[w] = p.acked[w] + 1
	}
	return p, nil
}

// crashChild is the process that is killed. It reports acknowledgements on standard output, unbuffered.
func crashChild(t *testing.T, dir string) {
	e := mustOpen(t, dir, embedded.Options{MemTableBytes: 64 << 10})
	l := newLedger(4)
	tx := e.Begin(t.Context())
	for w := range l.workers {
		v, err := tx.Get(workerKey(w)).Wait()
		if err != nil {
			t.Fatal(err)
		}
		l.workers[w].acked.Store(number(v))
		l.workers[w].begun.Store(number(v))
	}
	tx.Cancel()
	err := l.run(t.Context(), e, func(w int, i int64) { fmt.Printf("acked %d %d\n", w, i) })
	t.Fatal("ended before it was killed: ", err)
}

// TestFailure_disk checks that once the disk fails, nothing more is acknowledged, and that everything acknowledged
// before is there when the disk works again.
func TestFailure_disk(t *testing.T) {
	isLog := func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }
	isSync := func(op errorfs.Op) bool {
		return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
	}
	isWrite := func(op errorfs.Op) bool { return op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileWriteAt }
	tests := map[string]struct {
		fails func(op errorfs.Op) bool
		err   error
		code  kv.Code
	}{
		"log sync":  {func(op errorfs.Op) bool { return isLog(op) && isSync(op) }, syscall.EIO, kv.CodeIOError},
		"log write": {func(op errorfs.Op) bool { return isLog(op) && isWrite(op) }, syscall.EIO, kv.CodeIOError},
		"table write": {func(op errorfs.Op) bool {
			return strings.HasSuffix(op.Path, ".sst") && isWrite(op)
		}, syscall.EIO, kv.CodeIOError},
		"manifest sync": {func(op errorfs.Op) bool {
			return strings.Contains(op.Path, "MANIFEST") && isSync(op)
		}, syscall.EIO, kv.CodeIOError},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk := newCrashDisk()
			var broken errorfs.Toggle
			broken.Injector = errorfs.InjectorFunc(func(op errorfs.Op) error {
				if tt.fails(op) {
					return &os.PathError{Op: "injected", Path: op.Path, Err: tt.err}
				}
				return nil
			})
			options := embedded.Options{Logger: quiet(t), MemTableBytes: 64 << 10}
			e, err := embedded.Open("/store", options.WithFS(errorfs.Wrap(disk, &broken)))
			if err != nil {
				t.Fatal(err)
			}
			l := newLedger(4)
			done := make(chan error)
			go func() { done <- l.run(t.Context(), e, nil) }()
			time.Sleep(20 * time.Millisecond)
			broken.On()
			if err := <-done; err != nil {
				t.Fatalf("the workers ended with %v", err)
			}
			p := l.promised()
			p.begun = l.begun()
			tx := e.Begin(t.Context())
			tx.Set([]byte("a"), nil)
			if err := tx.Commit(); !kv.IsCode(err, tt.code) || kv.MaybeCommitted(err) || kv.Retryable(err) {
				t.Errorf("a commit after the failure: %v", err)
			}
			if err := e.Failed(); !kv.IsCode(err, tt.code) {
				t.Errorf("failed: %v", err)
			}
			if err := e.Close(); !kv.IsCode(err, tt.code) {
				t.Errorf("close: %v", err)
			}
			after := disk.CrashClone(vfs.CrashCloneCfg{})
			if e, err = embedded.Open("/store", options.WithFS(after)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			if err := l.verify(t.Context(), e, p); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpen_damage checks that a torn tail of the log is repaired silently, and that other damage is reported and
// never read as data.
func TestOpen_damage(t *testing.T) {
	oneGoroutine(t)
	write := func(t *testing.T, dir string, flush bool) *embedded.Engine {
		e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			set(t, e, fmt.Sprintf("k%03d", i), strings.Repeat("v", 3000))
			if flush && i%10 == 0 { // often enough that no old log is left to recover from
				if err := e.Pebble().Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		return e
	}
	fill := func(t *testing.T, dir string, flush bool) {
		if err := write(t, dir, flush).Close(); err != nil {
			t.Fatal(err)
		}
	}
	newest := func(t *testing.T, dir, pattern string) string {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		return files[len(files)-1]
	}
	damage := func(t *testing.T, file string, change func(b []byte) []byte) {
		b, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, change(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	quietly := embedded.Options{Logger: quiet(t)}
	refused := func(t *testing.T, dir string) {
		t.Helper()
		if e, err := embedded.Open(dir, quietly); err == nil {
			_ = e.Close()
			t.Error("opened")
		} else if !strings.Contains(err.Error(), "is damaged") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
	}
	t.Run("torn tail", func(t *testing.T) {
		open := t.TempDir()
		e := write(t, open, false)
		defer func() { _ = e.Close() }()
		dir := copyOf(t, open)
		set(t, e, "k050", strings.Repeat("v", 3000))
		longer := copyOf(t, open)
		damage(t, newest(t, dir, "*.log"), func(b []byte) []byte { // unfinished writes at the power cut
			more, err := os.ReadFile(newest(t, longer, "*.log"))
			if err != nil {
				t.Fatal(err)
			}
			return more[:len(b)+(len(more)-len(b))/2]
		})
		e2 := mustOpen(t, dir, quietly)
		if v := get(t, e2, "k049"); len(v) != 3000 {
			t.Errorf("%d bytes are left of the last value", len(v))
		}
		if v := get(t, e2, "k050"); v != "" {
			t.Errorf("%d bytes of a torn value", len(v))
		}
		set(t, e2, "k050", "again")
	})
	t.Run("acknowledged commits at the end of a log, after a crash", func(t *testing.T) {
		open := t.TempDir()
		e := mustOpen(t, open, quietly)
		for i := range 40 {
			set(t, e, fmt.Sprintf("k%03d", i), strings.Repeat("v", 100))
		}
		for _, before := range []int{6000, 3000, 1000, 1} { // bytes before the log's end
			dir := copyOf(t, open)
			flip := func(b []byte) []byte { b[len(b)-before] ^= 1; return b }
			damage(t, newest(t, dir, "*.log"), flip)
			refused(t, dir)
			damage(t, newest(t, dir, "*.log"), flip) // restored
			if v := get(t, mustOpen(t, dir, quietly), "k039"); len(v) != 100 {
				t.Errorf("%d bytes before the end: %d bytes are left of the last value", before, len(v))
			}
		}
	})
	t.Run("log that ends early", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, false)
		damage(t, newest(t, dir, "*.log"), func(b []byte) []byte { return b[:len(b)/2] })
		if e, err := embedded.Open(dir, quietly); err == nil {
			_ = e.Close()
			t.Error("opened")
		} else if !strings.Contains(err.Error(), "damaged") {
			t.Error(err)
		}
	})
	t.Run("log", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, false)
		damage(t, newest(t, dir, "*.log"), func(b []byte) []byte { copy(b[20_000:], "damaged"); return b })
		if e, err := embedded.Open(dir, quietly); err == nil {
			defer func() { _ = e.Close() }()
			t.Errorf("opened, with %d bytes of the last value", len(get(t, e, "k049")))
		} else if !strings.Contains(err.Error(), "damaged") {
			t.Error(err)
		}
	})
	t.Run("table", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, true)
		file, at := rowsBlock(t, dir, "k")
		damage(t, file, func(b []byte) []byte { copy(b[at:], "damaged"); return b })
		e := mustOpen(t, dir, embedded.Options{Logger: slogDiscard()})
		defer func() { _ = e.Close() }()
		tx := e.Begin(t.Context())
		defer tx.Cancel()
		it := tx.GetRange(kv.KeyRange{Begin: []byte("k"), End: []byte("l")}, kv.RangeOptions{})
		defer it.Close()
		for it.Next() {
		}
		if !kv.IsCode(it.Err(), kv.CodeFileCorrupt) || strings.Contains(it.Err().Error(), "\n") {
			t.Errorf("a damaged table was read: %v", it.Err())
		}
	})
	t.Run("manifest", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, true)
		damage(t, newest(t, dir, "MANIFEST-*"), func(b []byte) []byte { return b[:40] })
		damage(t, newest(t, dir, "copy-of-MANIFEST-*"), func(b []byte) []byte { return b[:60] })
		refused(t, dir)
	})
	t.Run("manifest's middle", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, true)
		for _, file := range []string{"MANIFEST-*", "copy-of-MANIFEST-*"} {
			damage(t, newest(t, dir, file), func(b []byte) []byte { b[len(b)/2] ^= 1; return b })
		}
		refused(t, dir)
	})
	t.Run("horizon", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, false)
		// A power cut may have torn one slot.
		damage(t, newest(t, dir, "horizon"), func(b []byte) []byte { b[10] ^= 1; return b })
		if err := mustOpen(t, dir, quietly).Close(); err != nil {
			t.Fatal(err)
		}
		damage(t, newest(t, dir, "horizon"), func(b []byte) []byte { clear(b[:16<<10]); return b })
		refused(t, dir)
	})
	t.Run("missing log", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, false)
		if err := os.Remove(newest(t, dir, "*.log")); err != nil {
			t.Fatal(err)
		}
		refused(t, dir)
	})
	t.Run("missing table", func(t *testing.T) {
		dir := t.TempDir()
		fill(t, dir, true)
		if err := os.Remove(newest(t, dir, "*.sst")); err != nil {
			t.Fatal(err)
		}
		refused(t, dir)
	})
	t.Run("not a directory", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := embedded.Open(file, quietly); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	})
}

package embedded_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded"
)

// TestCrash_fault damages one file of a store that was killed or closed, and opens it. Acceptable results are a
// refusal, all acknowledged data, and, if a table is damaged, errors when it is read. Data may never be missing
// silently. After a refusal the store must be complete again once the file is restored. DIVAN_FAULT_ROUNDS sets the
// number of faults for each kind of store, DIVAN_FAULT_SEED selects them.
func TestCrash_fault(t *testing.T) {
	if dir := os.Getenv("DIVAN_FAULT_CHILD"); dir != "" {
		faultChild(t, dir)
		return
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("DIVAN_FAULT_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("DIVAN_FAULT_SEED=%d", seed)
	for i, kill := range []bool{true, false} {
		name := map[bool]string{true: "killed", false: "closed"}[kill]
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			outcomes := map[string]int{}
			var store faultStore
			total := rounds("DIVAN_FAULT_ROUNDS", 25)
			for round := range total {
				if round%faultsPerStore == 0 {
					store = makeFaultStore(t, rng, kill)
				}
				f := store.pick(t, rng)
				outcome, err := store.try(t, f)
				if err != nil {
					t.Errorf("round %d, %s: %v", round, f, err)
					if keep := os.Getenv("DIVAN_FAULT_KEEP"); keep != "" {
						_ = os.CopyFS(filepath.Join(keep, name, strconv.Itoa(round)), os.DirFS(store.dir))
					}
				}
				outcomes[f.class()+" "+outcome]++
			}
			t.Logf("%d faults: %v", total, outcomes)
		})
	}
}

// TestCrash_faultAtTableEnd flips bits in the part of a table with its filter, indexes, properties and footer: each
// could hide rows, and none may.
func TestCrash_faultAtTableEnd(t *testing.T) {
	oneGoroutine(t)
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	s := faultStore{dir: filepath.Join(t.TempDir(), "store")}
	s.live(t, "65536", 2*faultKeys, false, rng.Uint64())
	tables, err := filepath.Glob(filepath.Join(s.dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal("no table", err)
	}
	outcomes := map[string]int{}
	for range rounds("DIVAN_FAULT_ROUNDS", 25) {
		table := tables[rng.IntN(len(tables))]
		info, err := os.Stat(table)
		if err != nil {
			t.Fatal(err)
		}
		f := fault{kind: "flip", file: filepath.Base(table), seed: rng.Uint64(),
			at: info.Size() - 1 - rng.Int64N(min(info.Size(), 2000))}
		outcome, err := s.try(t, f)
		if err != nil {
			t.Errorf("%s of %d: %v", f, info.Size(), err)
		}
		outcomes[outcome]++
	}
	t.Logf("%v", outcomes)
}

const (
	faultsPerStore = 5
	faultKeys      = 300
)

// faultStore is a closed store and the data acknowledged in it.
type faultStore struct {
	dir string
	// acked is the last acknowledged step of each key, begun the last step that may have happened instead.
	acked, begun [faultKeys]int
}

// faultValue returns the value of a key after a step; every seventh step clears it.
func faultValue(key, step int) []byte {
	if step == 0 || step%7 == 6 {
		return nil
	}
	size := 200
	if key%5 == 0 {
		size = 40 << 10
	}
	v := fmt.Appendf(nil, "%d %d ", key, step)
	rng := rand.NewPCG(uint64(key), uint64(step))
	for len(v) < size {
		v = fmt.Appendf(v, "%x", rng.Uint64())
	}
	return v
}

func faultKey(key int) []byte { return fmt.Appendf(nil, "doc/%03d", key) }

// makeFaultStore lets processes work on a store one after the other. All but the last end by a close or a kill, at
// random.
func makeFaultStore(t *testing.T, rng *rand.Rand, kill bool) faultStore {
	s := faultStore{dir: filepath.Join(t.TempDir(), "store")}
	memtable := []string{"65536", "262144", "16777216"}[rng.IntN(3)]
	lives := 1 + rng.IntN(3)
	for life := range lives {
		commits := faultKeys
		if life > 0 {
			commits = []int{0, 3, 40, 600}[rng.IntN(4)] // soon after a start, or after much work
		}
		killed := kill
		if life < lives-1 {
			killed = rng.IntN(2) == 0
		}
		s.live(t, memtable, commits, killed, rng.Uint64())
	}
	return s
}

// live runs one process that makes at least this many commits.
func (s *faultStore) live(t *testing.T, memtable string, commits int, kill bool, seed uint64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestCrash_fault$", "-test.count=1")
	child.Env = append(os.Environ(), "DIVAN_FAULT_CHILD="+s.dir, "DIVAN_FAULT_MEMTABLE="+memtable,
		fmt.Sprint("DIVAN_FAULT_CHILD_SEED=", seed),
		fmt.Sprint("DIVAN_FAULT_FIRST=", s.acked == [faultKeys]int{}))
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(out)
	ended := false
	end := func() {
		ended = true
		if kill {
			err = child.Process.Kill()
		} else {
			err = in.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; ; n++ {
		line, err := read.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		var what string
		var key, step int
		if _, err := fmt.Sscanf(line, "%s %d %d\n", &what, &key, &step); err == nil {
			switch what {
			case "begun":
				s.begun[key] = step
			case "acked":
				s.acked[key] = step
			}
		}
		if n >= 1+2*commits && !ended {
			end()
		}
	}
	err = child.Wait()
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signaled() != kill ||
		!kill && err != nil {
		t.Fatalf("the process that works on the store: %v", err)
	}
}

// faultChild writes until it is killed or its standard input ends.
func faultChild(t *testing.T, dir string) {
	memtable, _ := strconv.ParseInt(os.Getenv("DIVAN_FAULT_MEMTABLE"), 10, 64)
	seed, _ := strconv.ParseUint(os.Getenv("DIVAN_FAULT_CHILD_SEED"), 10, 64)
	rng := rand.New(rand.NewPCG(seed, 0))
	e, err := embedded.Open(dir, embedded.Options{Logger: quiet(t), MemTableBytes: memtable})
	if err != nil {
		t.Fatal(err)
	}
	steps := make([]int, faultKeys)
	for key := range steps {
		if steps[key], err = readStep(t, e, key); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	fmt.Println("open 0 0")
	for i := 0; ; i++ {
		select {
		case <-stop:
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		key := i
		if i >= faultKeys || os.Getenv("DIVAN_FAULT_FIRST") != "true" {
			key = rng.IntN(faultKeys)
		}
		steps[key]++
		fmt.Printf("begun %d %d\n", key, steps[key])
		tx := e.Begin(t.Context())
		if v := faultValue(key, steps[key]); v != nil {
			tx.Set(faultKey(key), v)
		} else {
			tx.Clear(faultKey(key))
		}
		tx.Set(fmt.Appendf(nil, "step/%03d", key), counter(int64(steps[key])))
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("acked %d %d\n", key, steps[key])
	}
}

func readStep(t *testing.T, e kv.Engine, key int) (int, error) {
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	v, err := tx.Get(fmt.Appendf(nil, "step/%03d", key)).Wait()
	return int(number(v)), err
}

// fault is a change of one file.
type fault struct {
	kind, file string
	at, n      int64
	seed       uint64
}

func (f fault) String() string {
	return fmt.Sprintf("%s %s at %d, %d bytes", f.kind, f.file, f.at, f.n)
}

func (f fault) table() bool { return strings.HasSuffix(f.file, ".sst") }

// class returns the kind of file.
func (f fault) class() string {
	name := strings.TrimLeft(f.file, "0123456789")
	if cut, _, ok := strings.Cut(name, "-"); ok && !strings.HasPrefix(name, "marker") {
		return cut
	}
	return strings.TrimRight(name, "0123456789-.")
}

// pick chooses a random fault. Half of them are in logs, manifests and the horizon, which are few.
func (s *faultStore) pick(t *testing.T, rng *rand.Rand) fault {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	if rng.IntN(2) == 0 {
		entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), ".sst") })
	}
	entry := entries[rng.IntN(len(entries))]
	info, err := entry.Info()
	if err != nil {
		t.Fatal(err)
	}
	f := fault{kind: []string{"flip", "cut", "zero", "garbage", "delete"}[rng.IntN(5)], file: entry.Name(),
		seed: rng.Uint64(), n: 4096}
	if info.Size() == 0 && f.kind != "garbage" {
		f.kind = "delete"
	}
	switch f.kind {
	case "garbage":
		f.at, f.n = rng.Int64N(info.Size()+1), 1+rng.Int64N(4096)
	case "zero":
		f.at = rng.Int64N(info.Size()) &^ 4095
	case "flip", "cut":
		f.at = rng.Int64N(info.Size())
	}
	return f
}

// apply damages the file.
func (f fault) apply(dir string) error {
	path := filepath.Join(dir, f.file)
	if f.kind == "delete" {
		return os.Remove(path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(f.seed, 0))
	switch f.kind {
	case "flip":
		b[f.at] ^= 1 << rng.IntN(8)
	case "cut":
		b = b[:f.at]
	case "zero":
		clear(b[f.at:min(f.at+f.n, int64(len(b)))])
	case "garbage":
		b = append(b, make([]byte, max(0, int(f.at+f.n)-len(b)))...)
		for i := f.at; i < f.at+f.n; i++ {
			b[i] = byte(rng.Uint32())
		}
	}
	return os.WriteFile(path, b, 0o600)
}

// faultOptions let a check be one transaction however slow the machine is, and Pebble spends long on a damaged block.
func faultOptions() embedded.Options {
	return embedded.Options{Logger: slogDiscard()}.WithTransactionTime(time.Minute)
}

// try opens a copy of the store with the fault.
func (s *faultStore) try(t *testing.T, f fault) (outcome string, err error) {
	dir, err := os.MkdirTemp(t.TempDir(), "fault") //nolint:usetesting // it is removed at once, or the disk would fill up
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := errors.Join(os.CopyFS(dir, os.DirFS(s.dir)), f.apply(dir)); err != nil {
		return "", err
	}
	e, err := embedded.Open(dir, faultOptions())
	if err != nil {
		if !strings.Contains(err.Error(), "damaged") || strings.Contains(err.Error(), "\n") {
			return "refused", fmt.Errorf("it was refused: %w", err)
		}
		return "refused", s.mended(t, dir, f)
	}
	outcome, err = s.check(t, e, f.table())
	if err != nil {
		return "lost", errors.Join(err, e.Close())
	}
	set(t, e, "after", "1")
	if err := e.Close(); err != nil {
		return "", err
	}
	if e, err = embedded.Open(dir, faultOptions()); err != nil {
		if f.table() {
			return outcome, nil
		}
		return "", fmt.Errorf("opened once, then refused: %w", err)
	}
	_, err = s.check(t, e, f.table())
	return outcome, errors.Join(err, e.Close())
}

// mended opens the refused store after restoring the file.
func (s *faultStore) mended(t *testing.T, dir string, f fault) error {
	b, err := os.ReadFile(filepath.Join(s.dir, f.file))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, f.file), b, 0o600); err != nil {
		return err
	}
	e, err := embedded.Open(dir, faultOptions())
	if err != nil {
		return fmt.Errorf("refused even after the file was restored: %w", err)
	}
	_, err = s.check(t, e, false)
	return errors.Join(err, e.Close())
}

// check reads everything, each key alone and all in one range. Reads may fail only if a table is damaged.
func (s *faultStore) check(t *testing.T, e kv.Engine, table bool) (outcome string, err error) {
	outcome = "whole"
	tx := e.Begin(t.Context())
	defer tx.Cancel()
	failed := func(err error) error {
		if !table || !kv.IsCode(err, kv.CodeFileCorrupt) {
			return err
		}
		outcome = "told"
		return nil
	}
	for key := range faultKeys {
		v, err := tx.Get(faultKey(key)).Wait()
		if err == nil {
			err = s.right(key, v)
		} else {
			err = failed(err)
		}
		if err != nil {
			return "", err
		}
	}
	for _, reverse := range []bool{false, true} {
		found := make([][]byte, faultKeys)
		it := tx.GetRange(kv.KeyRange{Begin: []byte("doc/"), End: []byte("doc0")},
			kv.RangeOptions{Mode: kv.ModeWantAll, Reverse: reverse})
		for it.Next() {
			key, err := strconv.Atoi(string(it.KeyValue().Key[4:]))
			if err != nil {
				return "", err
			}
			found[key] = bytes.Clone(it.KeyValue().Value)
		}
		err := it.Err()
		it.Close()
		if err != nil {
			if err := failed(err); err != nil {
				return "", err
			}
			continue
		}
		for key, v := range found {
			if err := s.right(key, v); err != nil {
				return "", fmt.Errorf("in a range: %w", err)
			}
		}
	}
	return outcome, nil
}

// right compares the value found at a key with what was acknowledged.
func (s *faultStore) right(key int, found []byte) error {
	for step := s.acked[key]; step <= max(s.acked[key], s.begun[key]); step++ {
		if bytes.Equal(found, faultValue(key, step)) {
			return nil
		}
	}
	return fmt.Errorf("key %d was acknowledged at step %d but has %q", key, s.acked[key],
		found[:min(20, len(found))])
}

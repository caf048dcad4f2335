package spill_test

import (
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// faulty are files whose writes or reads fail after some calls.
type faulty struct {
	spill.Files
	writes, reads int
	err           error
	open          int
}

func (f *faulty) Create() (spill.File, error) {
	file, err := f.Files.Create()
	f.open++
	return &faultyFile{file, f}, err
}

type faultyFile struct {
	spill.File
	of *faulty
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.of.writes--; f.of.writes < 0 {
		return 0, &os.PathError{Op: "write", Path: "/secret", Err: f.of.err}
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if f.of.reads--; f.of.reads < 0 {
		return 0, &os.PathError{Op: "read", Path: "/secret", Err: f.of.err}
	}
	return f.File.ReadAt(p, off)
}

func (f *faultyFile) Close() error {
	f.of.open--
	return f.File.Close()
}

func newStore(t *testing.T, files spill.Files, limit int64) (*spill.Space, *spill.Store, *work.Work) {
	t.Helper()
	space, err := spill.New(files, limit)
	if err != nil {
		t.Fatal(err)
	}
	w := work.New(t.Context(), nil, 1<<20, nil)
	store := space.NewStore(w)
	t.Cleanup(func() {
		store.Close()
		if now, _, _ := space.Used(); now != 0 {
			t.Errorf("%d bytes of the space are left", now)
		}
		if w.Used() != 0 {
			t.Errorf("%d bytes of memory are left", w.Used())
		}
		w.Close()
	})
	return space, store, w
}

// byFirst compares the first column.
func byFirst(a, b []types.Datum, fail *error) int {
	c, err := types.Compare(a[0], b[0])
	if err != nil {
		*fail = err
	}
	return c
}

// sortMany sorts n rows of (number, text, position) and returns the first error.
func sortMany(store *spill.Store, n int, check func(row []types.Datum)) error {
	rnd := rand.New(rand.NewPCG(3, 4))
	s := store.NewSorter(3, byFirst)
	defer s.Close()
	for i := range n {
		row := []types.Datum{types.NewInt(rnd.Int64N(500)), types.NewText(strings.Repeat("x", rnd.IntN(400))),
			types.NewInt(int64(i))}
		if err := s.Add(row); err != nil {
			return err
		}
	}
	if err := s.Sort(); err != nil {
		return err
	}
	for {
		row, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		check(row)
	}
}

func TestSorter(t *testing.T) {
	space, store, _ := newStore(t, spill.Dir(t.TempDir()), 1<<30)
	got := 0
	var last []types.Datum
	err := sortMany(store, 30_000, func(row []types.Datum) {
		if last != nil && (last[0].I > row[0].I || last[0].I == row[0].I && last[2].I >= row[2].I) {
			t.Fatalf("%v after %v", row, last)
		}
		last = row
		got++
	})
	if err != nil || got != 30_000 {
		t.Fatalf("%d rows: %v", got, err)
	}
	// Space that has been read is used again.
	if _, peak, _ := space.Used(); peak == 0 || peak > 16<<20 {
		t.Errorf("%d bytes were needed for 8 MB", peak)
	}
}

// Rows that are large beside the memory make many short runs. Merging them takes time in proportion to n*log(n). It
// once wrote in every step all rows that had been merged before.
func TestSorter_LargeRows(t *testing.T) {
	_, store, _ := newStore(t, spill.Dir(t.TempDir()), 1<<30)
	const rows, size = 1200, 40_000
	s := store.NewSorter(3, byFirst)
	defer s.Close()
	for i := range rows {
		row := []types.Datum{types.NewInt(int64(i * 7 % 5)), types.NewInt(int64(i)),
			types.NewText(strings.Repeat("x", size))}
		if err := s.Add(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sort(); err != nil {
		t.Fatal(err)
	}
	var got [][2]int64
	for {
		row, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, [2]int64{row[0].I, row[1].I})
	}
	if len(got) != rows {
		t.Errorf("%d of %d rows", len(got), rows)
	}
	for i := 1; i < len(got); i++ {
		if slices.Compare(got[i-1][:], got[i][:]) >= 0 {
			t.Fatalf("%v after %v", got[i], got[i-1])
		}
	}
	if times := float64(store.Written()) / (rows * size); times > 12 {
		t.Errorf("each row was written %.0f times", times)
	}
}

func TestStore_Faults(t *testing.T) {
	for _, c := range []struct {
		name          string
		limit         int64
		writes, reads int
		err           error
		code          sqlstate.Code
	}{
		{"full disk", 1 << 30, 500, math.MaxInt, syscall.ENOSPC, sqlstate.DiskFull},
		{"quota", 1 << 30, 0, math.MaxInt, syscall.EDQUOT, sqlstate.DiskFull},
		{"write", 1 << 30, 3000, math.MaxInt, syscall.EIO, sqlstate.IOError},
		{"read", 1 << 30, math.MaxInt, 100, syscall.EIO, sqlstate.IOError},
		{"limit", 1 << 20, math.MaxInt, math.MaxInt, nil, sqlstate.ConfigurationLimitExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := &faulty{Files: spill.Dir(t.TempDir()), writes: c.writes, reads: c.reads, err: c.err}
			_, store, _ := newStore(t, files, c.limit)
			err := sortMany(store, 30_000, func([]types.Datum) {})
			var e *sqlstate.Error
			if !errors.As(err, &e) || e.Code != c.code {
				t.Errorf("%v, want %s", err, c.code)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a path: %v", err)
			}
			store.Close()
			if files.open != 0 {
				t.Errorf("%d files are open", files.open)
			}
			// The next statement is not affected.
			files.writes, files.reads = math.MaxInt, math.MaxInt
			if err := sortMany(store, 3_000, func([]types.Datum) {}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "temp")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sql-123", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, store, _ := newStore(t, spill.Dir(dir), 1<<30)
	names := func() (out []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return out
	}
	if got := names(); !slices.Equal(got, []string{"other"}) {
		t.Errorf("after the start: %v", got)
	}
	during := 0
	if err := sortMany(store, 10_000, func([]types.Datum) { during = len(names()) }); err != nil {
		t.Fatal(err)
	}
	if during != 1 {
		t.Errorf("%d files have names while a statement runs, so a killed process would leave them", during)
	}
}

// A list is read by several scans while it grows and moves to the file.
func TestList(t *testing.T) {
	_, store, _ := newStore(t, spill.Dir(t.TempDir()), 1<<30)
	list := store.NewList(2)
	defer list.Free()
	scans := []*spill.Scan{list.Scan(), list.Scan()}
	for i := range 10_000 {
		row := []types.Datum{types.NewInt(int64(i)), types.NewText(strings.Repeat("y", i%300))}
		if err := list.Append(row); err != nil {
			t.Fatal(err)
		}
		for n, s := range scans {
			if i%(n+1) != 0 {
				continue
			}
			if got, err := s.Next(); err != nil || got[0].I != s.At()-1 || len(got[1].S) != int(s.At()-1)%300 {
				t.Fatalf("%v %v", got, err)
			}
		}
	}
	for _, s := range scans {
		s.Close()
	}
	if list.Disk() == 0 {
		t.Error("it is still in memory")
	}
}

// A file that would take what the disk must keep is not extended, and blocks that it has are used again.
func TestSpace_Spare(t *testing.T) {
	space, store, _ := newStore(t, spill.Dir(t.TempDir()), 1<<30)
	const most = 2 << 20
	space.Spare = func() (int64, bool) {
		now, _, _ := space.Used()
		return most - now, true
	}
	err := sortMany(store, 50_000, func([]types.Datum) {})
	var e *sqlstate.Error
	if !errors.As(err, &e) || e.Code != sqlstate.DiskFull || e.Hint == "" {
		t.Errorf("the error is %v", err)
	}
	if _, peak, _ := space.Used(); peak == 0 || peak > most {
		t.Errorf("%d bytes were used", peak)
	}
	space.Spare = func() (int64, bool) { return 0, false }
	if err := sortMany(store, 20_000, func([]types.Datum) {}); err != nil {
		t.Errorf("without a known size: %v", err)
	}
}

// Package spill keeps rows that do not fit the memory of a statement in temporary files: lists, sorts and partitions of
// rows. All statements of a node share one bounded space. A statement has one file, which is unlinked as soon as it has
// been created, so that nothing is left when the statement or the process ends, in whatever way.
package spill

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/work"
)

// DefaultLimit is the default size of a Space.
const DefaultLimit = 4 << 30

// A file is allocated in blocks, which are also the buffers of writers and readers: one for each thousandth of the
// statement's memory, within these bounds.
const (
	minBlock = 1 << 10
	maxBlock = 16 << 10
)

// Files creates temporary files. Tests inject faults with it.
type Files interface {
	// Create returns a new empty file without a name, or one whose Close removes it.
	Create() (File, error)
	// Clean removes what an earlier process has left.
	Clean() error
}

// File is a temporary file. It is used by one goroutine.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// Space bounds the temporary files of all statements of a node. It is safe for concurrent use.
type Space struct {
	// Spare returns how many bytes of the disk the files may still take. ok is false if that is not known. It is called
	// before a file grows by a block, and must be cheap and safe for concurrent use. It may be nil, and is set before
	// the Space is used.
	Spare func() (bytes int64, ok bool)
	files Files
	limit int64
	mu    struct {
		sync.Mutex
		used, peak int64
		spilled    int64 // statements
	}
}

// New returns a space of limit bytes over files, after removing what an earlier process has left.
func New(files Files, limit int64) (*Space, error) {
	if err := files.Clean(); err != nil {
		return nil, err
	}
	return &Space{files: files, limit: limit}, nil
}

// Used returns the bytes in files now, the most there ever were, and the limit. The Space may be nil.
func (s *Space) Used() (now, peak, limit int64) {
	if s == nil {
		return 0, 0, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.used, s.mu.peak, s.limit
}

// Spilled returns how many statements have written temporary files. The Space may be nil.
func (s *Space) Spilled() int64 {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.spilled
}

// NewStore returns the temporary file of one statement, which is created when it is first needed. The Space may be nil:
// such a Store spills nothing. The caller must close it.
func (s *Space) NewStore(w *work.Work) *Store {
	return &Store{space: s, work: w, block: min(max(w.Limit()>>10, minBlock), maxBlock)}
}

func (s *Space) grow(n int64) error {
	if s.Spare != nil {
		if spare, ok := s.Spare(); ok && n > spare {
			return sqlstate.New(sqlstate.DiskFull,
				"a temporary file would leave too little of the disk for documents").
				WithHint("Narrow the statement with WHERE or LIMIT, use a view, or free space on the disk of the " +
					"data directory.")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.limit-s.mu.used {
		return sqlstate.New(sqlstate.ConfigurationLimitExceeded,
			"temporary files of all SQL statements together exceed sql.temp_files (%d MB)", max(s.limit>>20, 1)).
			WithHint("Narrow the statement with WHERE or LIMIT, use a view, or raise sql.temp_files in node.yaml.")
	}
	s.mu.used += n
	s.mu.peak = max(s.mu.peak, s.mu.used)
	return nil
}

func (s *Space) shrink(n int64) {
	s.mu.Lock()
	s.mu.used -= n
	s.mu.Unlock()
}

// Store is the temporary file of one statement. Its blocks belong to runs and are used again when these end. It must
// not be used concurrently.
type Store struct {
	space  *Space // nil: nothing is spilled
	work   *work.Work
	file   File
	block  int64   // size of a block
	blocks int64   // that the file has
	unused []int64 // blocks of no run
	total  int64   // bytes written
}

// Enabled reports whether rows can be spilled. The Store may be nil.
func (s *Store) Enabled() bool { return s != nil && s.space != nil }

// Crowded reports whether someone who holds that much memory should spill it.
func (s *Store) Crowded(held int64) bool { return s.Enabled() && s.work.Crowded(held) }

// Written returns the number of bytes that have been written.
func (s *Store) Written() int64 {
	if s == nil {
		return 0
	}
	return s.total
}

// Close removes the file. The Store may be used again afterwards, but not the runs that it had.
func (s *Store) Close() {
	if s == nil || s.file == nil {
		return
	}
	_ = s.file.Close() // nothing in it is needed any more
	s.space.shrink(s.blocks * s.block)
	s.file, s.blocks, s.unused = nil, 0, nil
}

// write writes a block and returns its number.
func (s *Store) write(block []byte) (int64, error) {
	if err := s.work.Step(len(block) >> 9); err != nil {
		return 0, err
	}
	if s.file == nil {
		f, err := s.space.files.Create()
		if err != nil {
			return 0, fileError("create", err)
		}
		s.file = f
		s.space.mu.Lock()
		s.space.mu.spilled++
		s.space.mu.Unlock()
	}
	var at int64
	if n := len(s.unused); n > 0 {
		at, s.unused = s.unused[n-1], s.unused[:n-1]
	} else {
		if err := s.space.grow(s.block); err != nil {
			return 0, err
		}
		at = s.blocks
		s.blocks++
	}
	if _, err := s.file.WriteAt(block, at*s.block); err != nil {
		s.unused = append(s.unused, at)
		return 0, fileError("write", err)
	}
	s.total += int64(len(block))
	return at, nil
}

func (s *Store) read(block []byte, at int64) error {
	if err := s.work.Step(len(block) >> 9); err != nil {
		return err
	}
	if _, err := s.file.ReadAt(block, at*s.block); err != nil {
		return fileError("read", err)
	}
	return nil
}

// fileError is an error of the statement: a full disk is 53100, anything else 58030.
func fileError(what string, err error) error {
	code := sqlstate.IOError
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		code = sqlstate.DiskFull
	}
	e := sqlstate.New(code, "could not %s a temporary file: %s", what, cause(err))
	e.Err = err
	return e
}

// cause is the system's message without the path, which is nobody's business but the operator's.
func cause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Dir keeps temporary files in a directory of their own, which it creates.
type Dir string

// prefix is how the names of temporary files begin. Clean removes nothing else.
const prefix = "sql-"

// Create implements Files. The file has no name any more when it returns.
func (d Dir) Create() (File, error) {
	f, err := os.CreateTemp(string(d), prefix)
	if errors.Is(err, os.ErrNotExist) { // somebody has tidied up
		if err = d.Clean(); err == nil {
			f, err = os.CreateTemp(string(d), prefix)
		}
	}
	if err != nil {
		return nil, err
	}
	if removed := os.Remove(f.Name()) == nil; removed {
		return f, nil
	}
	return named{f}, nil // some systems do not remove an open file
}

// named is a file that is removed when it is closed.
type named struct{ *os.File }

func (n named) Close() error {
	return errors.Join(n.File.Close(), os.Remove(n.Name()))
}

// Clean implements Files.
func (d Dir) Clean() error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return fmt.Errorf("temporary files of SQL: %w", err)
	}
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("temporary files of SQL: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if err := os.Remove(filepath.Join(string(d), e.Name())); err != nil {
			return fmt.Errorf("temporary files of SQL: %w", err)
		}
	}
	return nil
}

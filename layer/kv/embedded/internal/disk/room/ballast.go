package room

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
)

// ballast is a file that reserves disk space and has no meaningful content. When something else fills the disk to the
// last byte, the file is emptied, so that the store can open, flush its memtables, delete and compact. It is filled
// again when there is space. CockroachDB has the same, operated by hand.
type ballast struct {
	path string
	size int64 // 0 for none

	mu    sync.Mutex // held while the file is being changed
	whole atomic.Bool
}

const ballastFile = "ballast"

// look checks whether the file exists from an earlier run.
func (b *ballast) look() {
	info, err := os.Stat(b.path)
	b.whole.Store(b.size > 0 && err == nil && info.Size() == b.size)
}

// release frees the space. The empty file stays, since its directory may not be writable.
func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole.Store(false)
	info, err := os.Stat(b.path)
	return err == nil && info.Size() > 0 && os.Truncate(b.path, 0) == nil
}

// fill reserves the space if margin bytes remain free beside it, and reports whether it did. Trying is the only way
// to detect a quota.
func (b *ballast) fill(margin int64) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Truncate(b.path, 0))
		}
	}()
	err = allocate(f, b.size+margin)
	if err == nil {
		err = f.Truncate(b.size)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		b.whole.Store(b.size > 0)
	}
	return err
}

// writeRandom fills a file with incompressible data, on file systems that cannot preallocate space.
func writeRandom(f *os.File, size int64) error {
	var seed [32]byte
	random := rand.NewChaCha8(seed)
	buf := make([]byte, 256<<10)
	for at := int64(0); at < size; {
		_, _ = random.Read(buf) // never fails
		n, err := f.WriteAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return f.Sync()
}

package room

import (
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
)

// ballast is a file that takes room on the disk and holds nothing. When something else fills the disk to the last byte,
// the file is emptied, and the store can open, flush what is in memory, delete and compact. It is filled again when
// there is room. CockroachDB does the same, by hand.
type ballast struct {
	path string
	size int64 // 0 for none

	mu    sync.Mutex // held while the file is changed
	whole atomic.Bool
}

const ballastFile = "ballast"

// look finds out whether the file is there from before.
func (b *ballast) look() {
	info, err := os.Stat(b.path)
	b.whole.Store(b.size > 0 && err == nil && info.Size() == b.size)
}

// release gives the room back. The file stays, empty: its directory may not be writable.
func (b *ballast) release() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole.Store(false)
	info, err := os.Stat(b.path)
	return err == nil && info.Size() > 0 && os.Truncate(b.path, 0) == nil
}

// fill takes the room, if margin is left beside it, and reports whether it did. A quota shows in no other way than by
// trying.
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

// writeRandom fills a file where the file system cannot allocate room: with what it cannot compress.
func writeRandom(f *os.File, size int64) error {
	var seed [32]byte
	random := rand.NewChaCha8(seed)
	buf := make([]byte, 256<<10)
	for at := int64(0); at < size; {
		_, _ = random.Read(buf) // has no error
		n, err := f.WriteAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil {
			return err
		}
		at += int64(n)
	}
	return f.Sync()
}

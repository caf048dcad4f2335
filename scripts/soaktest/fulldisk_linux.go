package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// diskBytes is the size of the disk that is filled.
const diskBytes = 96 << 20

func needsMount(_ context.Context, e *environment) string {
	dir, err := e.newDir("full disk")
	if err != nil {
		return err.Error()
	}
	if err := mountDisk(dir); err != nil {
		return fmt.Sprintf("a file system cannot be mounted: %v", err)
	}
	return errText(errors.Join(syscall.Unmount(dir, 0), os.Remove(dir)))
}

func errText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func mountDisk(dir string) error {
	return syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskBytes))
}

// runFullDisk repeatedly fills the disk of a node under writes, and frees space again. The node must refuse writes,
// answer reads, and accept writes again by itself.
func runFullDisk(ctx context.Context, e *environment, t *tally) (err error) {
	dir, err := e.newDir("full disk")
	if err != nil {
		return err
	}
	if err := mountDisk(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
	s, err := newSpec(ctx, "soak", dir)
	if err != nil {
		return err
	}
	n, err := s.start(ctx, e.binary)
	if err != nil {
		return err
	}
	l := newLedger()
	if err := l.prepare(ctx, n, ""); err != nil {
		n.kill()
		return err
	}
	for i := range 3 {
		filler := filepath.Join(dir, "filler")
		l.writeUntil(ctx, e, time.Duration(e.rng.IntN(800)+100)*time.Millisecond, n, func() {
			err = fill(filler)
			wait(ctx, 500*time.Millisecond) // let writers run into it
		})
		t.events++
		if err != nil {
			n.kill()
			return err
		}
		if _, _, err := n.do(ctx, "GET", "/"+database+"/_all_docs?limit=10", nil); err != nil {
			t.wrong++
			t.remark("a read on a full disk: %v", err)
		}
		switch i {
		case 1: // start on the full disk
			n.kill()
			if n, err = s.start(ctx, e.binary); err != nil {
				return fmt.Errorf("start on a full disk: %w", err)
			}
		case 2: // stop on the full disk
			if err := n.stop(); err != nil {
				return err
			}
			if n, err = s.start(ctx, e.binary); err != nil {
				return fmt.Errorf("start on a full disk: %w", err)
			}
		}
		if err := os.Remove(filler); err != nil {
			n.kill()
			return err
		}
		began := time.Now()
		if err := l.recovers(ctx, n, fmt.Sprintf("_design/room%d", i)); err != nil {
			n.kill()
			return err
		}
		t.took(time.Since(began))
		if err := l.verify(ctx, n, t); err != nil {
			n.kill()
			return fmt.Errorf("with free space again: %w", err)
		}
	}
	return n.stop()
}

// fill takes all the space that is left, as another program would.
func fill(file string) error {
	f, err := os.Create(file)
	if err != nil {
		if errors.Is(err, syscall.ENOSPC) {
			return os.WriteFile(file, nil, 0o600)
		}
		return err
	}
	zeros := make([]byte, 64<<10)
	for size := len(zeros); size > 0; {
		if _, err := f.Write(zeros[:size]); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// faultsARound is how many copies of a store are damaged per round.
const faultsARound = 12

// runFaults writes a store, kills or stops its node, and damages one file in each of several copies. A node on such a
// copy must refuse to start, or answer reads of damaged data with an error, or have everything.
func runFaults(ctx context.Context, e *environment, t *tally) error {
	dir, err := e.newDir("damaged files")
	if err != nil {
		return err
	}
	s, err := newSpec(ctx, "soak", filepath.Join(dir, "whole"))
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
	// Sometimes restart in between, which creates new logs and a new manifest.
	if e.rng.IntN(2) == 0 {
		l.writeUntil(ctx, e, 300*time.Millisecond, n, n.kill)
		if n, err = s.start(ctx, e.binary); err != nil {
			return err
		}
	}
	end := n.kill
	if t.rounds%2 == 1 {
		end = func() { err = n.stop() }
	}
	l.writeUntil(ctx, e, time.Duration(e.rng.IntN(1500)+10)*time.Millisecond, n, end)
	if err != nil {
		return err
	}
	t.writes, t.unknown = t.writes+l.writes, t.unknown+l.unknown
	l.writes, l.unknown = 0, 0
	for i := range faultsARound {
		copied := *s
		copied.dir = filepath.Join(dir, fmt.Sprintf("copy%d", i))
		if err := os.CopyFS(filepath.Join(copied.dir, "data"), os.DirFS(filepath.Join(s.dir, "data"))); err != nil {
			return err
		}
		what, err := damage(e.rng, filepath.Join(copied.dir, "data", "store"))
		if err != nil {
			return err
		}
		t.events++
		before := t.bad()
		if err := l.inspect(ctx, e, &copied, t, what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if t.bad() == before {
			if err := os.RemoveAll(copied.dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// damage damages one file below dir, and returns what it did.
func damage(rng *rand.Rand, dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s has %d files", dir, len(files)))
	}
	file := files[rng.IntN(len(files))]
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	name := filepath.Base(file)
	if kind := rng.IntN(5); kind == 0 || len(text) == 0 {
		return "deleted " + name, os.Remove(file)
	} else if at := rng.IntN(len(text)); kind == 1 {
		text[at] ^= 1 << rng.IntN(8)
		return fmt.Sprintf("flipped a bit at %d of %d in %s", at, len(text), name), os.WriteFile(file, text, 0o600)
	} else if kind == 2 {
		return fmt.Sprintf("cut %s at %d of %d", name, at, len(text)), os.Truncate(file, int64(at))
	} else {
		at = at / 4096 * 4096
		end := min(at+4096, len(text))
		what := "zeroed"
		clear(text[at:end])
		if kind == 4 {
			what = "garbled"
			for i := at; i < end; i++ {
				text[i] = byte(rng.Uint32())
			}
		}
		return fmt.Sprintf("%s %d to %d of %d in %s", what, at, end, len(text), name), os.WriteFile(file, text, 0o600)
	}
}

// inspect starts a node on a damaged store and checks every document.
func (l *ledger) inspect(ctx context.Context, e *environment, s *spec, t *tally, what string) error {
	n, err := s.start(ctx, e.binary)
	if errors.Is(err, errRefused) {
		t.refused++
		return nil
	}
	if err != nil {
		return err
	}
	defer n.kill()
	named := false
	for id, entry := range l.docs {
		now, _, err := n.read(ctx, id)
		var answered *status
		if errors.As(err, &answered) && answered.code >= 500 {
			named = true
			continue
		}
		if err != nil {
			return err
		}
		l.judge(id, entry, now, t, what)
	}
	if named {
		t.refused++
	}
	if line := panicked(n.log); line != "" {
		return fmt.Errorf("the node panicked: %s", line)
	}
	return nil
}

// judge is compare for a copy. It does not change the ledger.
func (l *ledger) judge(id string, e *entry, now state, t *tally, what string) {
	for _, s := range append([]state{e.acked}, e.tried...) {
		if s.same(now) {
			return
		}
	}
	if t.lost == 0 || len(t.remarks) < 10 {
		t.remark("%s: document %s: acknowledged %+v, found %+v", what, id, e.acked, now)
	}
	if now.n < e.acked.n {
		t.lost++
	} else {
		t.wrong++
	}
}

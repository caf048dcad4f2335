package faultkv

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// unreachableAfter is how long a call waits for an engine that does not answer.
const unreachableAfter = 10 * time.Second

// trouble is a condition of the engine that lasts until it is ended.
type trouble struct {
	mu      sync.Mutex
	silent  bool
	resumed chan struct{} // closed by Resume; replaced by Hang
	full    bool
}

func (e *engine) Hang() {
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	if !e.trouble.silent {
		e.trouble.silent, e.trouble.resumed = true, make(chan struct{})
	}
}

func (e *engine) Resume() {
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	if e.trouble.silent {
		e.trouble.silent = false
		close(e.trouble.resumed)
	}
}

func (e *engine) Fill(full bool) {
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	e.trouble.full = full
}

func (e *engine) isFull() bool {
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	return e.trouble.full
}

// silence returns a channel that is closed when the engine answers again, or nil if it does.
func (e *engine) silence() <-chan struct{} {
	e.trouble.mu.Lock()
	defer e.trouble.mu.Unlock()
	if !e.trouble.silent {
		return nil
	}
	return e.trouble.resumed
}

// answers waits until the engine answers. It returns an error if ctx ends before, or after unreachableAfter.
func (e *engine) answers(ctx context.Context, l *life) error {
	resumed := e.silence()
	if resumed == nil {
		return nil
	}
	e.injected[Silent].Add(1)
	patience := time.NewTimer(unreachableAfter)
	defer patience.Stop()
	select {
	case <-resumed:
		return nil
	case <-l.over:
		return nil // the caller checks that
	case <-ctx.Done():
		code := kv.CodeCancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			code = kv.CodeTimedOut
		}
		return kv.NewError(code, "faultkv: the engine does not answer", ctx.Err())
	case <-patience.C:
		return injected(kv.CodeUnreachable, "silence")
	}
}

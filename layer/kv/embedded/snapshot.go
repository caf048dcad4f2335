package embedded

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// longSnapshot implements kv.Snapshot: a view that is held for as long as it takes.
type longSnapshot struct {
	e    *Engine
	ctx  context.Context
	view *view

	mu struct {
		sync.RWMutex // read: a read is under way; write: Close
		closed       bool
	}
}

// OpenSnapshot implements kv.Snapshotter. It keeps the space of what is overwritten meanwhile from being freed.
func (e *Engine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	if err := contextError(ctx); err != nil {
		return nil, err
	}
	v, err := e.views.acquire()
	if err != nil {
		return nil, err
	}
	e.views.pin(v, 1)
	return &longSnapshot{e: e, ctx: ctx, view: v}, nil
}

func (s *longSnapshot) Version() int64 { return s.view.version }

func (s *longSnapshot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.closed {
		s.mu.closed = true
		s.e.views.pin(s.view, -1)
		s.e.views.release(s.view)
	}
}

func (s *longSnapshot) beginRead() error {
	s.mu.RLock()
	err := contextError(s.ctx)
	switch {
	case s.mu.closed:
		err = errCancelled
	case s.e.closing.Load():
		err = errClosed
	}
	if err != nil {
		s.mu.RUnlock()
	}
	return err
}

func (s *longSnapshot) endRead() { s.mu.RUnlock() }

func (s *longSnapshot) read(*rangeIterator, span) {}
func (s *longSnapshot) done(*rangeIterator, span) {}

func (s *longSnapshot) Get(key []byte) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = legalRead(key); f.err != nil {
		return f
	}
	if f.err = s.beginRead(); f.err != nil {
		return f
	}
	defer s.endRead()
	f.value, f.err = s.view.get(key)
	return f
}

func (s *longSnapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = s.beginRead(); f.err != nil {
		return f
	}
	defer s.endRead()
	f.value, _, f.err = s.view.selectKey(sel, nil)
	return f
}

func (s *longSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := s.beginRead(); err != nil {
		return failedRange{err}
	}
	defer s.endRead()
	begin, end := r.Selectors()
	bounds, err := boundsOf(begin, end, func(sel kv.KeySelector) ([]byte, error) {
		key, _, err := s.view.selectKey(sel, nil)
		return key, err
	})
	if err != nil || bounds.empty() {
		return failedRange{err}
	}
	it := &rangeIterator{owner: s, e: s.e, r: bounds, conflict: -1}
	startRange(it, s.view, nil, o, nil)
	return it
}

func (s *longSnapshot) ReadVersion() kv.Future[int64] {
	return &future[int64]{value: s.view.version}
}

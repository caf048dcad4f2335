package embedded

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
)

// longSnapshot implements kv.Snapshot: a view that is held for as long as it takes.
type longSnapshot struct {
	p    *txParts
	ctx  context.Context
	view *view

	mu struct {
		sync.RWMutex // read: a read is under way; write: Close
		closed       bool
	}
}

// openSnapshot is kv.Snapshotter's. It keeps the space of what is overwritten meanwhile from being freed.
func (p *txParts) openSnapshot(ctx context.Context) (kv.Snapshot, error) {
	if err := contextError(ctx); err != nil {
		return nil, err
	}
	v, err := p.views.acquire()
	if err != nil {
		return nil, err
	}
	p.views.pin(v, 1)
	return &longSnapshot{p: p, ctx: ctx, view: v}, nil
}

func (s *longSnapshot) Version() int64 { return s.view.version }

func (s *longSnapshot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.closed {
		s.mu.closed = true
		s.p.views.pin(s.view, -1)
		s.p.views.release(s.view)
	}
}

// BeginRead implements the owner of a range read.
func (s *longSnapshot) BeginRead() error {
	s.mu.RLock()
	err := contextError(s.ctx)
	switch {
	case s.mu.closed:
		err = errCancelled
	case s.p.store.closing.Load():
		err = errClosed
	}
	if err != nil {
		s.mu.RUnlock()
	}
	return err
}

// EndRead implements the owner of a range read.
func (s *longSnapshot) EndRead() { s.mu.RUnlock() }

// Covered implements the owner of a range read.
func (s *longSnapshot) Covered(*rangeIterator, span) {}

// Stopped implements the owner of a range read.
func (s *longSnapshot) Stopped(*rangeIterator, span) {}

func (s *longSnapshot) Get(key []byte) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = legalRead(key); f.err != nil {
		return f
	}
	if f.err = s.BeginRead(); f.err != nil {
		return f
	}
	defer s.EndRead()
	f.value, f.err = s.view.get(key)
	return f
}

func (s *longSnapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = s.BeginRead(); f.err != nil {
		return f
	}
	defer s.EndRead()
	f.value, _, f.err = s.view.selectKey(sel, nil)
	return f
}

func (s *longSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := s.BeginRead(); err != nil {
		return failed(err)
	}
	defer s.EndRead()
	begin, end := r.Selectors()
	bounds, err := boundsOf(begin, end, func(sel kv.KeySelector) ([]byte, error) {
		key, _, err := s.view.selectKey(sel, nil)
		return key, err
	})
	if err != nil || bounds.empty() {
		return failed(err)
	}
	it := &rangeIterator{owner: s, open: s.p.iterators, r: bounds, conflict: -1}
	startRange(it, s.view, nil, o, nil)
	return it
}

func (s *longSnapshot) ReadVersion() kv.Future[int64] {
	return &future[int64]{value: s.view.version}
}

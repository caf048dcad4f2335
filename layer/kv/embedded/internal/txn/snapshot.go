package txn

import (
	"context"
	"sync"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/versions"
)

// longSnapshot implements kv.Snapshot: a view that is held without a time limit.
type longSnapshot struct {
	p    *Parts
	ctx  context.Context
	view *versions.View

	mu struct {
		sync.RWMutex // locked for reading by reads, for writing by Close
		closed       bool
	}
}

// OpenSnapshot implements kv.Snapshotter. While the snapshot is open, the space of overwritten rows is not freed.
func (p *Parts) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	if err := failure.OfContext(ctx); err != nil {
		return nil, err
	}
	v, err := p.Views.Acquire()
	if err != nil {
		return nil, err
	}
	p.Views.Pin(v, 1)
	return &longSnapshot{p: p, ctx: ctx, view: v}, nil
}

func (s *longSnapshot) Version() int64 { return s.view.Version }

func (s *longSnapshot) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.closed {
		s.mu.closed = true
		s.p.Views.Pin(s.view, -1)
		s.p.Views.Release(s.view)
	}
}

// BeginRead implements versions' readOwner.
func (s *longSnapshot) BeginRead() error {
	s.mu.RLock()
	err := failure.OfContext(s.ctx)
	switch {
	case s.mu.closed:
		err = failure.ErrCancelled
	case s.p.Store.Closing.Load():
		err = failure.ErrClosed
	}
	if err != nil {
		s.mu.RUnlock()
	}
	return err
}

// EndRead implements versions' readOwner.
func (s *longSnapshot) EndRead() { s.mu.RUnlock() }

// Covered implements versions' readOwner.
func (s *longSnapshot) Covered(*versions.RangeIterator, keys.Span) {}

// Stopped implements versions' readOwner.
func (s *longSnapshot) Stopped(*versions.RangeIterator, keys.Span) {}

func (s *longSnapshot) Get(key []byte) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = keys.LegalRead(key); f.err != nil {
		return f
	}
	if f.err = s.BeginRead(); f.err != nil {
		return f
	}
	defer s.EndRead()
	f.value, f.err = s.view.Get(key)
	return f
}

func (s *longSnapshot) GetKey(sel kv.KeySelector) kv.Future[[]byte] {
	f := new(future[[]byte])
	if f.err = s.BeginRead(); f.err != nil {
		return f
	}
	defer s.EndRead()
	f.value, _, f.err = s.view.SelectKey(sel, nil)
	return f
}

func (s *longSnapshot) GetRange(r kv.Range, o kv.RangeOptions) kv.RangeIterator {
	if err := s.BeginRead(); err != nil {
		return versions.Failed(err)
	}
	defer s.EndRead()
	begin, end := r.Selectors()
	bounds, err := versions.BoundsOf(begin, end, func(sel kv.KeySelector) ([]byte, error) {
		key, _, err := s.view.SelectKey(sel, nil)
		return key, err
	})
	if err != nil || bounds.Empty() {
		return versions.Failed(err)
	}
	it := &versions.RangeIterator{Owner: s, Open: s.p.Iterators, R: bounds, Conflict: -1}
	versions.StartRange(it, s.view, nil, o, nil)
	return it
}

func (s *longSnapshot) ReadVersion() kv.Future[int64] {
	return &future[int64]{value: s.view.Version}
}

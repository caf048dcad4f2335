package remote

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// longSnapshot implements kv.Snapshot, and is the source of its reads.
type longSnapshot struct {
	reads
	ctx     context.Context
	conn    *conn
	object  uint64
	opening *call // answered with the version
	once    sync.Once
	closed  chan struct{}
}

// OpenSnapshot implements kv.Snapshotter. It blocks for one round trip, and asks again if the connection breaks
// meanwhile. A snapshot ends with its connection: its reads then fail with CodeTooOld.
func (e *Engine) OpenSnapshot(ctx context.Context) (kv.Snapshot, error) {
	var opened kv.Snapshot
	err := kv.Repeat(ctx, func(attempt int) (again bool, most time.Duration, err error) {
		opened, err = e.openSnapshot(ctx)
		return errors.Is(err, kv.ErrConnectionLost) && attempt < openAttempts, reopenPause, err
	})
	return opened, err
}

const (
	// openAttempts bounds the attempts of OpenSnapshot, each of which may wait for a connection.
	openAttempts = 4
	reopenPause  = 20 * time.Millisecond
)

func (e *Engine) openSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, err := e.beginSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if _, err = s.opened(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// BeginSnapshot implements kv.SnapshotBeginner. It blocks only while there is no connection.
func (e *Engine) BeginSnapshot(ctx context.Context) (kv.Snapshot, error) {
	s, err := e.beginSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (e *Engine) beginSnapshot(ctx context.Context) (*longSnapshot, error) {
	c, object, err := e.connection(ctx, nil)
	if err != nil {
		return nil, err
	}
	s := &longSnapshot{ctx: ctx, conn: c, object: object, closed: make(chan struct{})}
	s.of = s
	s.opening = c.ask(kindOpenSnapshot|beginFlag, object, nil)
	return s, nil
}

// opened waits until the snapshot is open, and returns its version.
func (s *longSnapshot) opened() (int64, error) {
	f, err := s.opening.wait(s.patience())
	if err != nil {
		return 0, err
	}
	return decodeVersion(f)
}

// Lost implements kv.Loser.
func (s *longSnapshot) Lost() bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.conn.mu.broken != nil
}

// Version implements kv.Snapshot.
func (s *longSnapshot) Version() int64 {
	version, err := s.opened()
	if err != nil {
		return 0
	}
	return version
}

func (s *longSnapshot) Close() {
	s.once.Do(func() {
		close(s.closed)
		_ = s.conn.hold(kindEnd, s.object, 0, nil) // if sending fails, the snapshot has ended with the connection
	})
}

func (s *longSnapshot) ended() error {
	select {
	case <-s.closed:
		return errCancelled
	default:
		return contextError(s.ctx)
	}
}

func (s *longSnapshot) request(k kind, build func(dst []byte) []byte) (*call, error) {
	if err := s.ended(); err != nil {
		return nil, err
	}
	return s.conn.ask(k, s.object, func(dst []byte) []byte {
		dst = appendWrites(dst, nil)
		if build != nil {
			dst = build(dst)
		}
		return dst
	}), nil
}

func (s *longSnapshot) able(ability uint64) bool { return s.conn.abilities.Load()&ability != 0 }

func (s *longSnapshot) follow(k kind, number uint32) (*call, error) {
	if err := s.ended(); err != nil {
		return nil, err
	}
	return s.conn.followUp(k, s.object, number), nil
}

func (s *longSnapshot) drop(k kind, number uint32) {
	if s.ended() == nil {
		_ = s.conn.hold(k, s.object, number, nil)
	}
}

func (s *longSnapshot) patience() (context.Context, <-chan struct{}) { return s.ctx, s.closed }

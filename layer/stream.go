package layer

import (
	"bytes"
	"context"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// stream reads one database for as long as a response takes (C6): at one snapshot where the engine can hold one, otherwise in one
// transaction after another. Not safe for concurrent use, but for close.
//
// It ends with its context at the latest: an answer that nobody reads keeps no snapshot.
type stream struct {
	ctx  context.Context
	d    *Database
	core *core
	keys space
	cfg  *config
	r    kv.Reader

	snap  kv.Snapshot    // nil where the engine holds none
	tx    kv.Transaction // then this
	turn  int            // grows with each transaction
	since time.Time      // begin of the transaction
	stop  func() bool
}

// streamTurn is for how long one transaction is read at most, below kv.TransactionSeconds.
const streamTurn = 4 * time.Second

// openStream opens a stream on the database as it is now. NotFound.
func (d *Database) openStream(ctx context.Context) (*stream, error) {
	s := &stream{ctx: ctx, d: d}
	snap, ok, err := kv.OpenSnapshot(ctx, d.store.engine)
	if err != nil {
		return nil, err
	}
	if ok {
		s.snap, s.r = snap, snap
		s.stop = context.AfterFunc(ctx, snap.Close)
		if err := s.configure(); err != nil {
			s.close()
			return nil, err
		}
		return s, nil
	}
	if err := s.renew(nil); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// exact reports whether the whole stream is one snapshot.
func (s *stream) exact() bool { return s.snap != nil }

func (s *stream) close() {
	if s.stop != nil {
		s.stop()
	}
	if s.snap != nil {
		s.snap.Close()
	}
	if s.tx != nil {
		s.tx.Cancel()
	}
}

// configure finds the database and its configuration at the reader's version.
func (s *stream) configure() error {
	for range 3 {
		c, err := s.d.resolved(s.r)
		if err != nil {
			return err
		}
		stamp := s.r.Get(c.stampKey)
		cfg := c.cached.Load()
		now, err := stamp.Wait()
		if err != nil {
			return err
		}
		if cfg == nil || !bytes.Equal(now, cfg.stamp) {
			if cfg, err = s.d.reload(c, s.r); kv.Retryable(err) {
				continue // the handle stands for another database now
			}
			if err != nil {
				return err
			}
		}
		s.d.pinned.Store(true)
		s.core, s.keys, s.cfg = c, c.keys, cfg
		return nil
	}
	return errNoDatabase()
}

// renew goes on in a new transaction after cause (nil: there was none), if that is something a new transaction cures.
func (s *stream) renew(cause error) error {
	if cause != nil && (s.exact() || !kv.Retryable(cause)) {
		return cause
	}
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		if s.tx != nil {
			s.tx.Cancel()
		}
		s.tx = s.d.store.engine.Begin(s.ctx)
		s.r, s.since = s.tx.Snapshot(), time.Now()
		s.turn++
		err := s.configure()
		if err == nil || !kv.Retryable(err) {
			return err
		}
		select {
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(wait):
		}
	}
}

// old reports that the transaction has been read for long enough: better to renew it than to run into its end.
func (s *stream) old() bool { return !s.exact() && time.Since(s.since) > streamTurn }

// scan visits a range's rows until visit returns false. Across transactions it goes on after the last row; rows are valid until visit
// returns.
func (s *stream) scan(r kv.KeyRange, o kv.RangeOptions, visit func(kv.KeyValue) (bool, error)) error {
	for {
		turn := s.turn
		more, err := scanOnce(s.r, &r, o, func(row kv.KeyValue) (bool, error) { return visit(row) })
		switch {
		case !more || err == nil:
			return err
		case turn != s.turn && s.ctx.Err() == nil: // visit has renewed the transaction
		default:
			if err := s.renew(err); err != nil {
				return err
			}
		}
	}
}

// body waits for a body, reading it again in a new transaction where its own has ended.
func (s *stream) body(b *bodyRead) (storedBody, bool, error) {
	for {
		turn := s.turn
		body, found, err := b.wait()
		if err == nil {
			return body, found, nil
		}
		if turn == s.turn {
			if err := s.renew(err); err != nil {
				return body, false, err
			}
		}
		*b = readBody(s.r, s.keys, b.id, b.rev)
	}
}

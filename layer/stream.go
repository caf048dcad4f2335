package layer

import (
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
	// leaveLarge has bodies that are read ahead stay in the store where they are large.
	leaveLarge bool
	// prepare, where set, runs in each new transaction after the first.
	prepare func() error
	// overlaid says that rows of an index are read as they were before the build under way: r is indexKeys.overlaid.
	overlaid bool
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
	return d.openTransactions(ctx)
}

// openTransactions is openStream of a stream that is stitched from transactions, whatever the engine holds.
func (d *Database) openTransactions(ctx context.Context) (*stream, error) {
	s := &stream{ctx: ctx, d: d}
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
		cfg, current := c.cached.Load(), false
		if cfg != nil {
			if current, err = c.current(s.r, cfg, kv.MetadataVersion(s.r)); err != nil {
				return err
			}
		}
		if !current {
			if cfg, err = s.d.reload(c, s.r); err != nil {
				if s.d.core.Load() != c {
					continue // the handle stands for another database now
				}
				return err
			}
		}
		s.d.pinned.Store(true)
		s.core, s.keys, s.cfg = c, c.keys, cfg
		return nil
	}
	return errNoDatabase()
}

// renew goes on in a new transaction after cause (nil: there was none), if that is something a new transaction cures. A
// caller that gets no further asks a kv.Patience about cause first.
func (s *stream) renew(cause error) error {
	if cause != nil && (s.exact() || !kv.Retryable(cause)) {
		return explained(cause)
	}
	var patience kv.Patience
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		if s.tx != nil {
			s.tx.Cancel()
		}
		s.tx = s.d.store.engine.Begin(s.ctx)
		s.r, s.since, s.overlaid = s.tx.Snapshot(), time.Now(), false
		s.turn++
		err := s.configure()
		if err == nil && s.prepare != nil {
			err = s.prepare()
		}
		if err = patience.Tried(err); err == nil || !kv.Retryable(err) {
			return explained(err)
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
	var patience kv.Patience
	for {
		turn := s.turn
		more, err := scanOnce(s.r, &r, o, func(row kv.KeyValue) (bool, error) {
			patience.Progress()
			return visit(row)
		})
		switch {
		case !more || err == nil:
			return err
		case turn != s.turn && s.ctx.Err() == nil: // visit has renewed the transaction
		default:
			if err := s.renew(patience.Tried(err)); err != nil {
				return err
			}
		}
	}
}

// try runs reads, again in a new transaction where theirs has ended.
func (s *stream) try(reads func() error) error {
	var patience kv.Patience
	for {
		err := reads()
		if err == nil {
			return nil
		}
		if err := s.renew(patience.Tried(err)); err != nil {
			return err
		}
	}
}

// ahead is a document's body, its branches or both, read ahead of the row that they belong to.
type ahead struct {
	id   string
	rev  Rev
	turn int // the stream's, when the reads were issued
	body bodyRead
	tree kv.RangeIterator
}

// largeReads is for bodyRead.large.
func (s *stream) largeReads() largeReads {
	if !s.leaveLarge {
		return largeReads{}
	}
	return largeReads{s.d, s.core, s.snap}
}

// readAhead starts reading what a row needs.
func (s *stream) readAhead(id string, rev Rev, body, tree bool) ahead {
	a := ahead{id: id, rev: rev, turn: s.turn}
	if body {
		a.body = readBody(s.r, s.keys, id, rev)
		a.body.large = s.largeReads()
	}
	if tree {
		a.tree = readTree(s.r, s.keys, id)
	}
	return a
}

// wait waits for one of an ahead's reads; in a new transaction where their own has ended.
func (s *stream) wait(a *ahead, read func() error) error {
	var patience kv.Patience
	for {
		err := read()
		if err == nil {
			return nil
		}
		if a.turn == s.turn || s.ctx.Err() != nil {
			if err := s.renew(patience.Tried(err)); err != nil {
				return err
			}
		}
		hadTree := a.tree != nil
		if hadTree {
			a.tree.Close()
		}
		*a = s.readAhead(a.id, a.rev, a.body.first != nil, hadTree)
	}
}

func (s *stream) waitBody(a *ahead) (body storedBody, found bool, err error) {
	err = s.wait(a, func() error {
		var err error
		body, found, err = a.body.wait()
		return err
	})
	return body, found, err
}

func (s *stream) waitTree(a *ahead) (tree documentTree, err error) {
	err = s.wait(a, func() error {
		var err error
		tree, err = waitTree(a.tree, s.keys, a.id)
		return err
	})
	return tree, err
}

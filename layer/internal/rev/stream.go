package rev

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// Stream reads one database for as long as a response takes (C6): at one snapshot where the engine can hold one,
// otherwise in one transaction after another. Not safe for concurrent use, but for close.
//
// It ends with its context at the latest: an answer that nobody reads keeps no snapshot.
type Stream struct {
	Ctx  context.Context
	D    *db.Database
	Core *db.Core
	Keys db.Space
	Cfg  *db.Config
	R    kv.Reader

	Snap  kv.Snapshot    // nil where the engine holds none
	Tx    kv.Transaction // then this
	Turn  int            // grows with each transaction
	since time.Time      // begin of the transaction
	stop  func() bool
	// LeaveLarge has bodies that are read ahead stay in the store where they are large.
	LeaveLarge bool
	// Prepare, where set, runs in each new transaction after the first.
	Prepare func() error
	// Overlaid says that rows of an index are read as they were before the build under way: r is Keys.overlaid.
	Overlaid bool
}

// streamTurn is for how long one transaction is read at most, below kv.TransactionSeconds.
const streamTurn = 4 * time.Second

// OpenStream opens a stream on the database as it is now. NotFound.
func OpenStream(ctx context.Context, d *db.Database) (*Stream, error) {
	s := &Stream{Ctx: ctx, D: d}
	snap, ok, err := kv.OpenSnapshot(ctx, d.Store.Engine)
	if err != nil {
		return nil, err
	}
	if ok {
		s.Snap, s.R = snap, snap
		s.stop = context.AfterFunc(ctx, snap.Close)
		if err := s.configure(); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	return OpenTransactions(ctx, d)
}

// OpenTransactions is OpenStream of a stream that is stitched from transactions, whatever the engine holds.
func OpenTransactions(ctx context.Context, d *db.Database) (*Stream, error) {
	s := &Stream{Ctx: ctx, D: d}
	if err := s.Renew(nil); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Exact reports whether the whole stream is one snapshot.
func (s *Stream) Exact() bool { return s.Snap != nil }

func (s *Stream) Close() {
	if s.stop != nil {
		s.stop()
	}
	if s.Snap != nil {
		s.Snap.Close()
	}
	if s.Tx != nil {
		s.Tx.Cancel()
	}
}

// configure finds the database and its configuration at the reader's version.
func (s *Stream) configure() error {
	for range 3 {
		c, err := s.D.Resolved(s.R)
		if err != nil {
			return err
		}
		cfg, current := c.Cached.Load(), false
		if cfg != nil {
			if current, err = c.Current(s.R, cfg, kv.MetadataVersion(s.R)); err != nil {
				return err
			}
		}
		if !current {
			if cfg, err = s.D.Reload(c, s.R); err != nil {
				if s.D.Core.Load() != c {
					continue // the handle stands for another database now
				}
				return err
			}
		}
		s.D.Pinned.Store(true)
		s.Core, s.Keys, s.Cfg = c, c.Keys, cfg
		return nil
	}
	return db.ErrNoDatabase()
}

// Renew goes on in a new transaction after cause (nil: there was none), if that is something a new transaction cures. A
// caller that gets no further asks a kv.Patience about cause first.
func (s *Stream) Renew(cause error) error {
	if cause != nil && (s.Exact() || !kv.Retryable(cause)) {
		return db.Explained(cause)
	}
	var patience kv.Patience
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		if s.Tx != nil {
			s.Tx.Cancel()
		}
		s.Tx = s.D.Store.Engine.Begin(s.Ctx)
		s.R, s.since, s.Overlaid = s.Tx.Snapshot(), time.Now(), false
		s.Turn++
		err := s.configure()
		if err == nil && s.Prepare != nil {
			err = s.Prepare()
		}
		if err = patience.Tried(err); err == nil || !kv.Retryable(err) {
			return db.Explained(err)
		}
		select {
		case <-s.Ctx.Done():
			return s.Ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Old reports that the transaction has been read for long enough: better to renew it than to run into its end.
func (s *Stream) Old() bool { return !s.Exact() && time.Since(s.since) > streamTurn }

// Scan visits a range's rows until visit returns false. Across transactions it goes on after the last row; rows are
// valid until visit returns.
func (s *Stream) Scan(r kv.KeyRange, o kv.RangeOptions, visit func(kv.KeyValue) (bool, error)) error {
	var patience kv.Patience
	for {
		turn := s.Turn
		more, err := db.ScanOnce(s.R, &r, o, func(row kv.KeyValue) (bool, error) {
			patience.Progress()
			return visit(row)
		})
		switch {
		case !more || err == nil:
			return err
		case turn != s.Turn && s.Ctx.Err() == nil: // visit has renewed the transaction
		default:
			if err := s.Renew(patience.Tried(err)); err != nil {
				return err
			}
		}
	}
}

// Try runs reads, again in a new transaction where theirs has ended.
func (s *Stream) Try(reads func() error) error {
	var patience kv.Patience
	for {
		err := reads()
		if err == nil {
			return nil
		}
		if err := s.Renew(patience.Tried(err)); err != nil {
			return err
		}
	}
}

// Ahead is a document's body, its branches or both, read ahead of the row that they belong to.
type Ahead struct {
	Id   string
	Rev  db.Rev
	turn int // the stream's, when the reads were issued
	body BodyRead
	tree kv.RangeIterator
}

// LargeReads is for BodyRead.large.
func (s *Stream) LargeReads() LargeReads {
	if !s.LeaveLarge {
		return LargeReads{}
	}
	return LargeReads{s.D, s.Core, s.Snap}
}

// ReadAhead starts reading what a row needs.
func (s *Stream) ReadAhead(id string, rev db.Rev, body, tree bool) Ahead {
	a := Ahead{Id: id, Rev: rev, turn: s.Turn}
	if body {
		a.body = ReadBody(s.R, s.Keys, id, rev)
		a.body.Large = s.LargeReads()
	}
	if tree {
		a.tree = ReadTree(s.R, s.Keys, id)
	}
	return a
}

// wait waits for one of an ahead's reads; in a new transaction where their own has ended.
func (s *Stream) wait(a *Ahead, read func() error) error {
	var patience kv.Patience
	for {
		err := read()
		if err == nil {
			return nil
		}
		if a.turn == s.Turn || s.Ctx.Err() != nil {
			if err := s.Renew(patience.Tried(err)); err != nil {
				return err
			}
		}
		hadTree := a.tree != nil
		if hadTree {
			a.tree.Close()
		}
		*a = s.ReadAhead(a.Id, a.Rev, a.body.First != nil, hadTree)
	}
}

func (s *Stream) WaitBody(a *Ahead) (body StoredBody, found bool, err error) {
	err = s.wait(a, func() error {
		var err error
		body, found, err = a.body.Wait()
		return err
	})
	return body, found, err
}

func (s *Stream) WaitTree(a *Ahead) (tree DocumentTree, err error) {
	err = s.wait(a, func() error {
		var err error
		tree, err = WaitTree(a.tree, s.Keys, a.Id)
		return err
	})
	return tree, err
}

package rev

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// Stream reads one database for as long as a response takes (C6): from one snapshot if the engine holds snapshots,
// otherwise in one transaction after another. It is not safe for concurrent use, except for Close.
//
// A stream ends when its context does, so that an answer that nobody reads does not keep a snapshot.
type Stream struct {
	Ctx  context.Context
	D    *db.Database
	Core *db.Core
	Keys db.Space
	Cfg  *db.Config
	R    kv.Reader

	Snap  kv.Snapshot    // nil if the engine holds none
	Tx    kv.Transaction // set if there is no snapshot
	Turn  int            // number of the transaction
	since time.Time      // start of the transaction
	stop  func() bool
	// traced is called at the end; nil if nobody traces it.
	traced func(kv.TraceEnd)
	// LeaveLarge leaves large bodies that are read ahead in the store.
	LeaveLarge bool
	// Prepare, unless nil, runs in each new transaction after the first.
	Prepare func() error
	// Overlaid reports that rows of an index are read as before the running build: R is Keys.overlaid.
	Overlaid bool

	last     db.Seq // as returned by LastSeq
	lastTurn int    // the turn in which it was read, counted from 1; 0 if it was not
}

// streamTurn is how long one transaction is read. It is less than kv.TransactionSeconds.
const streamTurn = 4 * time.Second

// OpenStream opens a stream on the current state of the database. It returns NotFound if there is no such database.
func OpenStream(ctx context.Context, d *db.Database) (*Stream, error) {
	return OpenStreamAhead(ctx, d, nil)
}

// OpenStreamAhead is OpenStream for a caller that knows what it will read first. It calls ahead, unless nil, as soon as
// the stream's snapshot can be read, so that those reads take no round trip of their own. ahead must not wait for them.
// It is called again if the configuration that this node has in memory turns out to be old, and not at all for a stream
// of transactions: what it has begun counts only if the stream is Exact.
func OpenStreamAhead(ctx context.Context, d *db.Database, ahead func(*Stream)) (*Stream, error) {
	s, err := openStream(ctx, d, ahead)
	if errors.Is(err, kv.ErrConnectionLost) {
		return OpenTransactions(ctx, d) // it waits for the store
	}
	return s, err
}

func openStream(ctx context.Context, d *db.Database, ahead func(*Stream)) (*Stream, error) {
	snap, ok, err := kv.BeginSnapshot(ctx, d.Store.Engine)
	if err != nil {
		return nil, err
	}
	if ok {
		s := &Stream{Ctx: ctx, D: d, traced: kv.Trace(ctx, kv.TracedRead)}
		s.Snap, s.R = snap, snap
		s.stop = context.AfterFunc(ctx, snap.Close)
		if err := s.configure(ahead); err != nil {
			s.Close()
			return nil, err
		}
		return s, nil
	}
	return OpenTransactions(ctx, d)
}

// OpenTransactions opens a stream that reads transactions, even if the engine holds snapshots.
func OpenTransactions(ctx context.Context, d *db.Database) (*Stream, error) {
	s := &Stream{Ctx: ctx, D: d, traced: kv.Trace(ctx, kv.TracedRead)}
	if err := s.Renew(nil); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Exact reports whether the whole stream reads one snapshot.
func (s *Stream) Exact() bool { return s.Snap != nil }

// Close releases the snapshot or the transaction.
func (s *Stream) Close() {
	if s.traced != nil {
		s.traced(kv.TraceEnd{Attempts: max(s.Turn, 1)})
	}
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

// configure finds the database and its configuration at the reader's version. ahead is OpenStreamAhead's.
func (s *Stream) configure(ahead func(*Stream)) error {
	for range 3 {
		c, err := s.D.Resolved(s.R)
		if err != nil {
			return err
		}
		cfg, current := c.Cached.Load(), false
		if cfg != nil {
			metadata := kv.MetadataVersion(s.R)
			if s.Core, s.Keys, s.Cfg = c, c.Keys, cfg; ahead != nil {
				ahead(s)
			}
			if current, err = c.Current(s.R, cfg, metadata); err != nil {
				return err
			}
		}
		if !current {
			if cfg, err = s.D.Reload(c, s.R); err != nil {
				if s.D.Core.Load() != c {
					continue // the handle refers to another database now
				}
				return err
			}
		}
		s.D.Pinned.Store(true)
		if s.Core, s.Keys, s.Cfg = c, c.Keys, cfg; !current && ahead != nil {
			ahead(s)
		}
		return nil
	}
	return db.ErrNoDatabase()
}

// LastSeq returns the newest sequence at the stream's version. It reads it once.
func (s *Stream) LastSeq() (db.Seq, error) {
	if s.lastTurn == s.Turn+1 {
		return s.last, nil
	}
	turn := s.Turn
	last, err := db.ReadLastSeq(s.R, s.Keys, s.Cfg)()
	if err == nil {
		s.last, s.lastTurn = last, turn+1
	}
	return last, err
}

// Renew begins a new transaction after the error cause, if a new transaction can help, or after none. A caller that may
// make no progress passes cause through a kv.Patience first.
func (s *Stream) Renew(cause error) error {
	if cause != nil && (s.Exact() || !kv.Retryable(cause)) {
		return db.Explain(cause)
	}
	var patience kv.Patience
	for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
		if s.Tx != nil {
			s.Tx.Cancel()
		}
		s.Tx = s.D.Store.Engine.Begin(s.Ctx)
		s.R, s.since, s.Overlaid = s.Tx.Snapshot(), time.Now(), false
		s.Turn++
		err := s.configure(nil)
		if err == nil && s.Prepare != nil {
			err = s.Prepare()
		}
		if err = patience.Tried(err); err == nil || !kv.Retryable(err) {
			return db.Explain(err)
		}
		select {
		case <-s.Ctx.Done():
			return s.Ctx.Err()
		case <-time.After(wait):
		}
	}
}

// Resume lets a read go on whose snapshot has ended with the connection to the store, as err says: from now on the
// stream reads transactions, as on an engine without snapshots. It returns err if that is not what has happened. The
// caller begins again after what it has answered; nothing else may use the stream meanwhile.
func (s *Stream) Resume(err error) error {
	if !s.Exact() || !errors.Is(err, kv.ErrConnectionLost) {
		return err
	}
	if s.stop != nil {
		s.stop()
	}
	s.Snap.Close()
	s.Snap, s.stop = nil, nil
	return s.Renew(nil)
}

// Begin is Try for the reads before the first row, which may also Resume.
func (s *Stream) Begin(reads func() error) error {
	err := s.Try(reads)
	if err == nil {
		return nil
	}
	if err := s.Resume(err); err != nil {
		return err
	}
	return s.Try(reads)
}

// Old reports whether the transaction should be renewed before it becomes too old.
func (s *Stream) Old() bool { return !s.Exact() && time.Since(s.since) > streamTurn }

// Scan visits the rows of a range until visit returns false. In a new transaction it continues after the last row. Rows
// are valid until visit returns.
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

// Try runs reads, and runs them again in a new transaction if theirs has ended.
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

// Ahead is a document's body or branches, read ahead of its row.
type Ahead struct {
	Id   string
	Rev  db.Rev
	turn int // the stream's turn in which the reads were started
	body BodyRead
	tree kv.RangeIterator
}

// LargeReads returns the value for BodyRead.Large.
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

// wait waits for one of a's reads, and starts them again in a new transaction if theirs has ended.
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

// WaitBody waits for the body. found is false if it is not stored.
func (s *Stream) WaitBody(a *Ahead) (body StoredBody, found bool, err error) {
	err = s.wait(a, func() error {
		var err error
		body, found, err = a.body.Wait()
		return err
	})
	return body, found, err
}

// WaitTree waits for the branches.
func (s *Stream) WaitTree(a *Ahead) (tree DocumentTree, err error) {
	err = s.wait(a, func() error {
		var err error
		tree, err = WaitTree(a.tree, s.Keys, a.Id)
		return err
	})
	return tree, err
}

package index

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// IndexAt is what a reader has to know about an index before it reads rows.
type IndexAt struct {
	Seq      db.Seq
	Building bool
	// Kept reports that, although a build is running, the rows of Seq can be told from those that the build has written
	// (before.go).
	Kept        bool
	Interactive bool // rows and documents are of the same version, or, while building, rows are of no version
}

// ReadAt starts reading the index's sequence and status at the stream's version, and its number into k. With current,
// wait returns an IndexBehind error if the index lacks any change.
func (ix *Index) ReadAt(s *rev.Stream, k *Keys, current bool) (wait func() (IndexAt, error)) {
	found := k.Find(s.R)
	read := ix.readSeq(s, k, current)
	return func() (IndexAt, error) {
		at, err := read()
		if err != nil {
			return at, err
		}
		return at, found()
	}
}

// readSeq is ReadAt without reading the index's number.
func (ix *Index) readSeq(s *rev.Stream, k *Keys, current bool) (wait func() (IndexAt, error)) {
	var lastSeq func() (db.Seq, error)
	if s.Cfg.Maintains(ix.design.Signature) {
		created, at := s.R.Get(k.InfoKey(keyspace.ViewCreation)), s.R.Get(k.InfoKey(keyspace.ViewUpdateSeq))
		lastSeq = db.ReadLastSeq(s.R, s.Keys, s.Cfg)
		return func() (IndexAt, error) { return interactiveAt(created, at, lastSeq, current) }
	}
	if current {
		lastSeq = db.ReadLastSeq(s.R, s.Keys, s.Cfg)
	}
	read := readIndexAt(s.R, k)
	return func() (IndexAt, error) {
		at, err := read()
		if err != nil || !current {
			return at, err
		}
		last, err := lastSeq()
		if err == nil && at.Seq.Compare(last) < 0 {
			err = ErrBehind()
		}
		return at, err
	}
}

// interactiveAt waits for the state of an interactive index.
func interactiveAt(created, at kv.Future[[]byte], lastSeq func() (db.Seq, error), current bool) (IndexAt, error) {
	creation, err := ParseCreation(created)
	if err != nil {
		return IndexAt{}, err
	}
	seq, err := ParseIndexSeq(at)
	if err == nil && current && !seq.Ready(creation) {
		err = ErrBehind()
	}
	if err != nil || !seq.Ready(creation) {
		return IndexAt{Building: true, Interactive: true}, err
	}
	last, err := lastSeq()
	return IndexAt{Seq: last, Interactive: true}, err
}

func readIndexAt(r kv.Reader, k *Keys) (wait func() (IndexAt, error)) {
	status, seq := r.Get(k.InfoKey(keyspace.ViewStatus)), r.Get(k.InfoKey(keyspace.ViewUpdateSeq))
	return func() (IndexAt, error) {
		building, err := ParseStatus(status)
		if err != nil {
			return IndexAt{}, err
		}
		at, err := ParseIndexSeq(seq)
		if at.Stale() {
			at.Seq = db.Seq{}
		}
		return IndexAt{Seq: at.Seq, Building: building != nil, Kept: building != nil && building.Keeps}, err
	}
}

// Reading is one query's view of an index. It ends with its context, if not before.
type Reading struct {
	Keys Keys
	Seq  db.Seq
	Rows *rev.Stream
	Docs *rev.Stream // of the same version as the rows, if that version is held
	// Empty reports that the index is being built for the first time: its sequence is zero, at which it has no rows.
	Empty bool
	// Decided reports that the rows are exactly those of Seq, and will stay so during the query.
	Decided bool
	Close   func() // may be called more than once
	// Total, unless nil, is how many rows the view has, if the caller of the query wants to know. Otherwise it is read.
	Total *int64
	// Refresh is set if the engine holds no snapshots. It updates Seq and Empty to the stream's current transaction.
	Refresh func() error
}

// Begin runs the reads at the start of an answer in one transaction, in which Seq and Empty are true. It repeats them
// if the transaction had to be restarted meanwhile, but gives up after a few attempts, because they may take longer
// than a transaction lives.
func (r *Reading) Begin(reads func() error) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		turn := r.Rows.Turn
		if err := reads(); err != nil {
			return err
		}
		if turn == r.Rows.Turn || r.Refresh == nil || attempt == attempts {
			return nil
		}
		if err := r.Rows.Try(r.Refresh); err != nil {
			return err
		}
	}
}

// NewerThan reports whether the database has changes after seq at the stream's version.
func NewerThan(s *rev.Stream, seq db.Seq) (bool, error) {
	last, err := s.LastSeq()
	return last.Compare(seq) > 0, err
}

// At returns a copy of the stream that reads from snap, which the caller closes.
func At(s *rev.Stream, snap kv.Snapshot) *rev.Stream {
	return &rev.Stream{Ctx: s.Ctx, D: s.D, Core: s.Core, Keys: s.Keys, Cfg: s.Cfg, R: snap, Snap: snap}
}

// ErrBehind returns an error named IndexBehind.
func ErrBehind() error {
	return fault.Errf(fault.Unavailable, IndexBehind, "the index has fallen behind by more than a query can apply")
}

// IndexBehind is the Name of an error of kind Unavailable: a Fresh query found more changes than it can apply itself,
// or a Current query found any. The caller brings the index up to date and queries again.
const IndexBehind = "index_behind"

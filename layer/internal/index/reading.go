package index

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// IndexAt is what a reader needs to know of an index before it reads its rows.
type IndexAt struct {
	Seq      db.Seq
	Building bool
	// Kept says of an index that is being built that the rows of seq can be told from those that the build has
	// written (before.go).
	Kept        bool
	Interactive bool // rows and documents are of one version; while it is building, rows are of none
}

// ReadAt is where the index stands at the stream's version; current refuses one that lacks something (IndexBehind).
func (ix *Index) ReadAt(s *rev.Stream, k *Keys, current bool) (IndexAt, error) {
	found := k.Find(s.R)
	at, err := ix.readSeq(s, k, current)
	if err != nil {
		return at, err
	}
	return at, found()
}

// readSeq is ReadAt without the index's number.
func (ix *Index) readSeq(s *rev.Stream, k *Keys, current bool) (IndexAt, error) {
	if !s.Cfg.Maintains(ix.design.Signature) {
		var lastSeq func() (db.Seq, error)
		if current {
			lastSeq = db.ReadLastSeq(s.R, s.Keys, s.Cfg)
		}
		at, err := readIndexAt(s.R, k)
		if err != nil || !current {
			return at, err
		}
		last, err := lastSeq()
		if err == nil && at.Seq.Compare(last) < 0 {
			err = ErrBehind()
		}
		return at, err
	}
	created, at := s.R.Get(k.InfoKey(keyspace.ViewCreation)), s.R.Get(k.InfoKey(keyspace.ViewUpdateSeq))
	lastSeq := db.ReadLastSeq(s.R, s.Keys, s.Cfg)
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

func readIndexAt(r kv.Reader, k *Keys) (IndexAt, error) {
	status, seq := r.Get(k.InfoKey(keyspace.ViewStatus)), r.Get(k.InfoKey(keyspace.ViewUpdateSeq))
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

// Reading is one query's view of an index. It ends with its context at the latest.
type Reading struct {
	Keys Keys
	Seq  db.Seq
	Rows *rev.Stream
	Docs *rev.Stream // of the same version as the rows, where that is held
	// Empty says that the index is being built for the first time: as of its sequence, zero, it has no rows.
	Empty bool
	// Decided says that the rows are all those of seq and no others, and stay so for as long as the query takes.
	Decided bool
	Close   func() // idempotent
	// Stands, where the engine holds no snapshots, finds seq and empty in the stream's present transaction.
	Stands func() error
}

// Begin runs the reads that an answer begins with, all of them in one transaction, in which seq and empty are true.
// Where reading takes longer than a transaction lives, they are of several in the end.
func (r *Reading) Begin(reads func() error) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		turn := r.Rows.Turn
		if err := reads(); err != nil {
			return err
		}
		if turn == r.Rows.Turn || r.Stands == nil || attempt == attempts {
			return nil
		}
		if err := r.Rows.Try(r.Stands); err != nil {
			return err
		}
	}
}

// NewerThan reports whether the database was written after a sequence, as of the stream's version.
func NewerThan(s *rev.Stream, seq db.Seq) (bool, error) {
	last, err := db.ReadLastSeq(s.R, s.Keys, s.Cfg)()
	return last.Compare(seq) > 0, err
}

// At is the stream at a snapshot that somebody else closes.
func At(s *rev.Stream, snap kv.Snapshot) *rev.Stream {
	return &rev.Stream{Ctx: s.Ctx, D: s.D, Core: s.Core, Keys: s.Keys, Cfg: s.Cfg, R: snap, Snap: snap}
}

func ErrBehind() error {
	return fault.Errf(fault.Unavailable, IndexBehind, "the index has fallen behind by more than a query makes up for")
}

// IndexBehind is the Name of the error (Unavailable) of a Fresh query that finds more changes than it can apply itself,
// and of a Current one that finds any: have the index brought up to date, and query again.
const IndexBehind = "index_behind"

package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// indexAt is what a reader needs to know of an index before it reads its rows.
type indexAt struct {
	seq      Seq
	building bool
	// kept says of an index that is being built that the rows of seq can be told from those that the build has
	// written (viewbefore.go).
	kept        bool
	interactive bool // rows and documents are of one version; while it is building, rows are of none
}

// readAt is where the index stands at the stream's version; current refuses one that lacks something (IndexBehind).
func (ix *Index) readAt(s *stream, k *indexKeys, current bool) (indexAt, error) {
	found := k.find(s.r)
	at, err := ix.readSeq(s, k, current)
	if err != nil {
		return at, err
	}
	return at, found()
}

// readSeq is readAt without the index's number.
func (ix *Index) readSeq(s *stream, k *indexKeys, current bool) (indexAt, error) {
	if !s.cfg.maintains(ix.design.Signature) {
		var lastSeq func() (Seq, error)
		if current {
			lastSeq = readLastSeq(s.r, s.keys, s.cfg)
		}
		at, err := readIndexAt(s.r, k)
		if err != nil || !current {
			return at, err
		}
		last, err := lastSeq()
		if err == nil && at.seq.Compare(last) < 0 {
			err = errBehind()
		}
		return at, err
	}
	created, at := s.r.Get(k.infoKey(keyspace.ViewCreation)), s.r.Get(k.infoKey(keyspace.ViewUpdateSeq))
	lastSeq := readLastSeq(s.r, s.keys, s.cfg)
	creation, err := parseCreation(created)
	if err != nil {
		return indexAt{}, err
	}
	seq, err := parseIndexSeq(at)
	if err == nil && current && !seq.ready(creation) {
		err = errBehind()
	}
	if err != nil || !seq.ready(creation) {
		return indexAt{building: true, interactive: true}, err
	}
	last, err := lastSeq()
	return indexAt{seq: last, interactive: true}, err
}

func readIndexAt(r kv.Reader, k *indexKeys) (indexAt, error) {
	status, seq := r.Get(k.infoKey(keyspace.ViewStatus)), r.Get(k.infoKey(keyspace.ViewUpdateSeq))
	building, err := parseStatus(status)
	if err != nil {
		return indexAt{}, err
	}
	at, err := parseIndexSeq(seq)
	if at.stale() {
		at.seq = Seq{}
	}
	return indexAt{seq: at.seq, building: building != nil, kept: building != nil && building.keeps}, err
}

// indexReading is one query's view of an index. It ends with its context at the latest.
type indexReading struct {
	keys indexKeys
	seq  Seq
	rows *stream
	docs *stream // of the same version as the rows, where that is held
	// empty says that the index is being built for the first time: as of its sequence, zero, it has no rows.
	empty bool
	// decided says that the rows are all those of seq and no others, and stay so for as long as the query takes.
	decided bool
	close   func() // idempotent
	// stands, where the engine holds no snapshots, finds seq and empty in the stream's present transaction.
	stands func() error
}

// begin runs the reads that an answer begins with, all of them in one transaction, in which seq and empty are true.
// Where reading takes longer than a transaction lives, they are of several in the end.
func (r *indexReading) begin(reads func() error) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		turn := r.rows.turn
		if err := reads(); err != nil {
			return err
		}
		if turn == r.rows.turn || r.stands == nil || attempt == attempts {
			return nil
		}
		if err := r.rows.try(r.stands); err != nil {
			return err
		}
	}
}

// newerThan reports whether the database was written after a sequence, as of the stream's version.
func (s *stream) newerThan(seq Seq) (bool, error) {
	last, err := readLastSeq(s.r, s.keys, s.cfg)()
	return last.Compare(seq) > 0, err
}

// at is the stream at a snapshot that somebody else closes.
func (s *stream) at(snap kv.Snapshot) *stream {
	return &stream{ctx: s.ctx, d: s.d, core: s.core, keys: s.keys, cfg: s.cfg, r: snap, snap: snap}
}

func errBehind() error {
	return errf(Unavailable, IndexBehind, "the index has fallen behind by more than a query makes up for")
}

// IndexBehind is the Name of the error (Unavailable) of a Fresh query that finds more changes than it can apply itself,
// and of a Current one that finds any: have the index brought up to date, and query again.
const IndexBehind = "index_behind"

package index

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/tuple"
)

// BuildPosition is the progress of a build in a shard: every change up to Seq is in the index. While Scans is set, that
// is true only of documents with ids up to After; of the others the index has nothing up to Seq. After a scan as of a
// cut, the build picks up the documents that moved before the scan reached them (Picks): then every document is indexed
// that has not moved, or whose entry is at most Picked.
type BuildPosition struct {
	Seq    db.Seq
	Scans  bool
	After  string
	Picks  bool
	Picked db.Seq
}

// Reached returns the sequence up to which the index is complete.
func (p BuildPosition) Reached() db.Seq {
	if p.Scans || p.Picks {
		return db.Seq{} // only an index without a sequence is scanned
	}
	return p.Seq
}

// Done reports whether the index is complete up to a goal.
func (p BuildPosition) Done(goal db.Seq) bool {
	return !p.Scans && !p.Picks && p.Seq.Compare(goal) >= 0
}

// AppendTuple appends the encoded position.
func (p BuildPosition) AppendTuple(dst []byte) []byte {
	dst = p.Seq.AppendTuple(dst)
	switch {
	case p.Scans:
		dst = tuple.AppendString(dst, p.After)
	case p.Picks:
		dst = p.Picked.AppendTuple(dst)
	}
	return dst
}

// ParsePosition decodes what AppendTuple encoded.
func ParsePosition(value []byte) (p BuildPosition, err error) {
	seq, rest, err := db.TakeSeq(value)
	p.Seq = seq
	if err == nil && len(rest) > 0 {
		if picked, _, not := db.TakeSeq(rest); not == nil {
			p.Picks, p.Picked = true, picked
		} else {
			p.Scans = true
			p.After, _, err = tuple.TakeString(rest)
		}
	}
	if err != nil {
		return p, db.Corrupt("progress of an index", err)
	}
	return p, nil
}

// Behind returns the position after the next document, given its id and the sequence of its entry.
func (p BuildPosition) Behind(id string, seq db.Seq) BuildPosition {
	switch {
	case p.Scans:
		p.After = id
	case p.Picks:
		p.Picked = seq
	default:
		p.Seq = seq
	}
	return p
}

package index

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/tuple"
)

// BuildPosition is how far a build has come in a shard: every change up to seq is in the index. While it scans, that is
// true of documents with ids up to after, and of the others the index has nothing of up to seq. After a scan as of a
// cut it picks up what had moved before the scan came to it: then that is true of documents that have not moved, and of
// those that have and were at most at picked.
type BuildPosition struct {
	Seq    db.Seq
	Scans  bool
	After  string
	Picks  bool
	Picked db.Seq
}

// Reached is up to where nothing is lacking.
func (p BuildPosition) Reached() db.Seq {
	if p.Scans || p.Picks {
		return db.Seq{} // no index that has a sequence is scanned for
	}
	return p.Seq
}

// Done reports whether nothing is lacking up to a goal.
func (p BuildPosition) Done(goal db.Seq) bool {
	return !p.Scans && !p.Picks && p.Seq.Compare(goal) >= 0
}

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

// Behind is the position once the document is done, which comes next: its id, and the sequence of its entry.
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

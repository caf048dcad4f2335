package layer

import "github.com/divandb/divan/layer/tuple"

// buildPosition is how far a build has come in a shard: every change up to seq is in the index. While it scans, that is
// true of documents with ids up to after, and of the others the index has nothing of up to seq. After a scan as of a
// cut it picks up what had moved before the scan came to it: then that is true of documents that have not moved, and of
// those that have and were at most at picked.
type buildPosition struct {
	seq    Seq
	scans  bool
	after  string
	picks  bool
	picked Seq
}

// reached is up to where nothing is lacking.
func (p buildPosition) reached() Seq {
	if p.scans || p.picks {
		return Seq{} // no index that has a sequence is scanned for
	}
	return p.seq
}

// done reports whether nothing is lacking up to a goal.
func (p buildPosition) done(goal Seq) bool { return !p.scans && !p.picks && p.seq.Compare(goal) >= 0 }

func (p buildPosition) appendTuple(dst []byte) []byte {
	dst = p.seq.appendTuple(dst)
	switch {
	case p.scans:
		dst = tuple.AppendString(dst, p.after)
	case p.picks:
		dst = p.picked.appendTuple(dst)
	}
	return dst
}

func parsePosition(value []byte) (p buildPosition, err error) {
	seq, rest, err := takeSeq(value)
	p.seq = seq
	if err == nil && len(rest) > 0 {
		if picked, _, not := takeSeq(rest); not == nil {
			p.picks, p.picked = true, picked
		} else {
			p.scans = true
			p.after, _, err = tuple.TakeString(rest)
		}
	}
	if err != nil {
		return p, corrupt("progress of an index", err)
	}
	return p, nil
}

// behind is the position once the document is done, which comes next: its id, and the sequence of its entry.
func (p buildPosition) behind(id string, seq Seq) buildPosition {
	switch {
	case p.scans:
		p.after = id
	case p.picks:
		p.picked = seq
	default:
		p.seq = seq
	}
	return p
}

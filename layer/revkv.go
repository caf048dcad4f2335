package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// leafKV is the KV of one edit branch (R1). Its ancestors stay encoded until someone needs them: an interactive edit
// carries them over.
type leafKV struct {
	rev     Rev
	deleted bool
	// winner is set for the winning branch, which alone has seq and branches.
	winner   bool
	seq      Seq
	branches int64
	// ancestors are the encoded ids, newest first. Not shared with the engine.
	ancestors []byte
}

func (l *leafKV) branch() (revtree.Branch, error) {
	b := revtree.Branch{Rev: l.rev, Deleted: l.deleted}
	for rest := l.ancestors; len(rest) > 0; {
		var id string
		var err error
		if id, rest, err = takeRevID(rest); err != nil {
			return b, corrupt("revision history", err)
		}
		b.Ancestors = append(b.Ancestors, id)
	}
	return b, nil
}

// order compares two leaves as their keys are ordered (R2).
func (l *leafKV) order(m *leafKV) int {
	return revtree.Branch{Rev: l.rev, Deleted: l.deleted}.Compare(revtree.Branch{Rev: m.rev, Deleted: m.deleted})
}

// parseLeafKey reads NotDeleted, RevPosition and RevHash: what follows the document's prefix.
func parseLeafKey(l *leafKV, suffix []byte) error {
	live, rest, err := tuple.TakeBool(suffix)
	if err == nil {
		l.deleted = !live
		l.rev, _, err = takeRev(rest)
	}
	if err != nil {
		return corrupt("revision key", err)
	}
	return nil
}

// parseLeafValue reads (RevFormat, Incarnation, Versionstamp, BranchCount, [ancestors]) of a winner or (RevFormat,
// [ancestors]) of another branch. withHistory keeps the ancestors.
func parseLeafValue(l *leafKV, value []byte, withHistory bool) error {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return corrupt("revision", err)
	}
	if format != keyspace.RevFormat {
		return unknownFormat("a document's revision", format, keyspace.RevFormat)
	}
	if len(rest) > 0 && rest[0] != nestedCode {
		l.winner = true
		if l.seq, rest, err = takeSeq(rest); err != nil {
			return corrupt("revision", err)
		}
		if l.branches, rest, err = tuple.TakeInt(rest); err != nil {
			return corrupt("revision", err)
		}
	}
	if withHistory {
		elements, _, err := tuple.TakeNested(rest)
		if err != nil {
			return corrupt("revision", err)
		}
		l.ancestors = append([]byte(nil), elements...)
	}
	return nil
}

var nestedCode = tuple.BeginNested(nil)[0]

// readLeaves collects a range read of one document's branches, in the order that the read has. prefixLen is the length
// of (Revisions, DocID).
func readLeaves(it kv.RangeIterator, prefixLen int, withHistory bool, dst []leafKV) ([]leafKV, error) {
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		var l leafKV
		if err := parseLeafKey(&l, row.Key[prefixLen:]); err != nil {
			return nil, err
		}
		if err := parseLeafValue(&l, row.Value, withHistory); err != nil {
			return nil, err
		}
		dst = append(dst, l)
	}
	return dst, it.Err()
}

// appendWinnerValue appends a winner's value and returns where the commit's versionstamp belongs.
func appendWinnerValue(dst []byte, incarnation int64, user uint16, branches int64, ancestors []byte) (value []byte, offset int) {
	from := len(dst)
	dst = tuple.AppendInt(dst, keyspace.RevFormat)
	dst = tuple.AppendInt(dst, incarnation)
	offset = len(dst) - from + 1
	dst = tuple.AppendVersionstamp(dst, tuple.IncompleteVersionstamp(user))
	dst = tuple.AppendInt(dst, branches)
	return appendHistory(dst, ancestors), offset
}

// appendWinnerAt appends a winner's value with a sequence that is known.
func appendWinnerAt(dst []byte, seq Seq, branches int64, ancestors []byte) []byte {
	dst = seq.appendTuple(tuple.AppendInt(dst, keyspace.RevFormat))
	return appendHistory(tuple.AppendInt(dst, branches), ancestors)
}

// appendLeafValue appends another branch's value.
func appendLeafValue(dst, ancestors []byte) []byte {
	return appendHistory(tuple.AppendInt(dst, keyspace.RevFormat), ancestors)
}

func appendHistory(dst, ancestors []byte) []byte {
	dst = tuple.BeginNested(dst)
	dst = append(dst, ancestors...)
	return tuple.EndNested(dst)
}

// maxHistory bounds the encoded ancestors, so that a value stays below kv.MaxValueSize also with long text ids or
// hashes full of zero bytes.
const maxHistory = 96_000

// extendHistory encodes the ancestors of a child of l, at most limit-1 of them (R5).
func extendHistory(l *leafKV, limit int) []byte {
	dst := appendRevID(make([]byte, 0, len(l.ancestors)+18), l.rev.ID)
	if limit <= 1 {
		return nil
	}
	return append(dst, cutHistory(l.ancestors, limit-2, maxHistory-len(dst))...)
}

// encodeHistory encodes ancestors that a merge has stemmed already.
func encodeHistory(ids []string) []byte {
	dst := make([]byte, 0, 18*len(ids))
	for _, id := range ids {
		dst = appendRevID(dst, id)
	}
	return cutHistory(dst, len(ids), maxHistory)
}

// cutHistory keeps the newest n encoded ids, and no more than size bytes.
func cutHistory(ancestors []byte, n, size int) []byte {
	const shortest = 2 // an empty text id
	if len(ancestors) <= size && len(ancestors) <= n*shortest {
		return ancestors
	}
	end := 0
	for rest := ancestors; len(rest) > 0 && n > 0; n-- {
		next, err := tuple.Skip(rest)
		if err != nil || len(ancestors)-len(next) > size {
			break
		}
		rest, end = next, len(ancestors)-len(next)
	}
	return ancestors[:end]
}

// sizeOf is how many bytes leaves were read from, roughly.
func sizeOf(leaves []leafKV) int {
	n := leafOverhead * len(leaves)
	for i := range leaves {
		n += len(leaves[i].ancestors)
	}
	return n
}

// fewBranches is up to how many branches Merge costs less than to prepare them in a Tree.
const fewBranches = 8

// eachWinner calls take with the winner of each document in a range of branches, in the order of ids, until that is
// false. prefix is the length of (Revisions).
func eachWinner(it kv.RangeIterator, prefix int, take func(id string, w *leafKV) bool) error {
	for it.Next() {
		row := it.KeyValue()
		id, suffix, err := tuple.TakeString(row.Key[prefix:])
		if err != nil {
			return corrupt("revision key", err)
		}
		var l leafKV
		if err := parseLeafKey(&l, suffix); err != nil {
			return err
		}
		if err := parseLeafValue(&l, row.Value, false); err != nil {
			return err
		}
		if l.winner && !take(id, &l) {
			return nil
		}
	}
	return it.Err()
}

// leafOverhead is what a leaf takes in its row beside its history, roughly.
const leafOverhead = 64

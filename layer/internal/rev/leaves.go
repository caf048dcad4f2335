package rev

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// LeafKV is the KV of one edit branch (R1). Its ancestors stay encoded until someone needs them: an interactive edit
// carries them over.
type LeafKV struct {
	Rev     db.Rev
	Deleted bool
	// Winner is set for the winning branch, which alone has seq and branches.
	Winner   bool
	Seq      db.Seq
	Branches int64
	// Ancestors are the encoded ids, newest first. Not shared with the engine.
	Ancestors []byte
}

func (l *LeafKV) Branch() (revtree.Branch, error) {
	b := revtree.Branch{Rev: l.Rev, Deleted: l.Deleted}
	for rest := l.Ancestors; len(rest) > 0; {
		var id string
		var err error
		if id, rest, err = db.TakeRevID(rest); err != nil {
			return b, db.Corrupt("revision history", err)
		}
		b.Ancestors = append(b.Ancestors, id)
	}
	return b, nil
}

// Order compares two leaves as their keys are ordered (R2).
func (l *LeafKV) Order(m *LeafKV) int {
	return revtree.Branch{Rev: l.Rev, Deleted: l.Deleted}.Compare(revtree.Branch{Rev: m.Rev, Deleted: m.Deleted})
}

// ParseLeafKey reads NotDeleted, RevPosition and RevHash: what follows the document's prefix.
func ParseLeafKey(l *LeafKV, suffix []byte) error {
	live, rest, err := tuple.TakeBool(suffix)
	if err == nil {
		l.Deleted = !live
		l.Rev, _, err = db.TakeRev(rest)
	}
	if err != nil {
		return db.Corrupt("revision key", err)
	}
	return nil
}

// ParseLeafValue reads (RevFormat, Incarnation, Versionstamp, BranchCount, [ancestors]) of a winner or (RevFormat,
// [ancestors]) of another branch. withHistory keeps the ancestors.
func ParseLeafValue(l *LeafKV, value []byte, withHistory bool) error {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return db.Corrupt("revision", err)
	}
	if format != keyspace.RevFormat {
		return db.UnknownFormat("a document's revision", format, keyspace.RevFormat)
	}
	if len(rest) > 0 && rest[0] != nestedCode {
		l.Winner = true
		if l.Seq, rest, err = db.TakeSeq(rest); err != nil {
			return db.Corrupt("revision", err)
		}
		if l.Branches, rest, err = tuple.TakeInt(rest); err != nil {
			return db.Corrupt("revision", err)
		}
	}
	if withHistory {
		elements, _, err := tuple.TakeNested(rest)
		if err != nil {
			return db.Corrupt("revision", err)
		}
		l.Ancestors = append([]byte(nil), elements...)
	}
	return nil
}

var nestedCode = tuple.BeginNested(nil)[0]

// ReadLeaves collects a range read of one document's branches, in the order that the read has. prefixLen is the length
// of (Revisions, DocID).
func ReadLeaves(it kv.RangeIterator, prefixLen int, withHistory bool, dst []LeafKV) ([]LeafKV, error) {
	defer it.Close()
	for it.Next() {
		row := it.KeyValue()
		var l LeafKV
		if err := ParseLeafKey(&l, row.Key[prefixLen:]); err != nil {
			return nil, err
		}
		if err := ParseLeafValue(&l, row.Value, withHistory); err != nil {
			return nil, err
		}
		dst = append(dst, l)
	}
	return dst, it.Err()
}

// AppendWinnerValue appends a winner's value and returns where the commit's versionstamp belongs.
func AppendWinnerValue(dst []byte, incarnation int64, user uint16, branches int64, ancestors []byte) (value []byte,
	offset int) {
	from := len(dst)
	dst = tuple.AppendInt(dst, keyspace.RevFormat)
	dst = tuple.AppendInt(dst, incarnation)
	offset = len(dst) - from + 1
	dst = tuple.AppendVersionstamp(dst, tuple.IncompleteVersionstamp(user))
	dst = tuple.AppendInt(dst, branches)
	return AppendHistory(dst, ancestors), offset
}

// AppendWinnerAt appends a winner's value with a sequence that is known.
func AppendWinnerAt(dst []byte, seq db.Seq, branches int64, ancestors []byte) []byte {
	dst = seq.AppendTuple(tuple.AppendInt(dst, keyspace.RevFormat))
	return AppendHistory(tuple.AppendInt(dst, branches), ancestors)
}

// AppendLeafValue appends another branch's value.
func AppendLeafValue(dst, ancestors []byte) []byte {
	return AppendHistory(tuple.AppendInt(dst, keyspace.RevFormat), ancestors)
}

func AppendHistory(dst, ancestors []byte) []byte {
	dst = tuple.BeginNested(dst)
	dst = append(dst, ancestors...)
	return tuple.EndNested(dst)
}

// maxHistory bounds the encoded ancestors, so that a value stays below kv.MaxValueSize also with long text ids or
// hashes full of zero bytes.
const maxHistory = 96_000

// ExtendHistory encodes the ancestors of a child of l, at most limit-1 of them (R5).
func ExtendHistory(l *LeafKV, limit int) []byte {
	dst := db.AppendRevID(make([]byte, 0, len(l.Ancestors)+18), l.Rev.ID)
	if limit <= 1 {
		return nil
	}
	return append(dst, cutHistory(l.Ancestors, limit-2, maxHistory-len(dst))...)
}

// EncodeHistory encodes ancestors that a merge has stemmed already.
func EncodeHistory(ids []string) []byte {
	dst := make([]byte, 0, 18*len(ids))
	for _, id := range ids {
		dst = db.AppendRevID(dst, id)
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

// SizeOf is how many bytes leaves were read from, roughly.
func SizeOf(leaves []LeafKV) int {
	n := LeafOverhead * len(leaves)
	for i := range leaves {
		n += len(leaves[i].Ancestors)
	}
	return n
}

// FewBranches is up to how many branches Merge costs less than to prepare them in a Tree.
const FewBranches = 8

// EachWinner calls take with the winner of each document in a range of branches, in the order of ids, until that is
// false. prefix is the length of (Revisions).
func EachWinner(it kv.RangeIterator, prefix int, take func(id string, w *LeafKV) bool) error {
	for it.Next() {
		row := it.KeyValue()
		id, suffix, err := tuple.TakeString(row.Key[prefix:])
		if err != nil {
			return db.Corrupt("revision key", err)
		}
		var l LeafKV
		if err := ParseLeafKey(&l, suffix); err != nil {
			return err
		}
		if err := ParseLeafValue(&l, row.Value, false); err != nil {
			return err
		}
		if l.Winner && !take(id, &l) {
			return nil
		}
	}
	return it.Err()
}

// LeafOverhead is what a leaf takes in its row beside its history, roughly.
const LeafOverhead = 64

package rev

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/revtree"
	"github.com/divandb/divan/layer/tuple"
)

// LeafKV is a decoded key and value of one branch (R1). Its ancestors stay encoded until they are needed: an
// interactive edit only copies them.
type LeafKV struct {
	Rev     db.Rev
	Deleted bool
	// Winner is set for the winning branch. Only the winner has Seq and Branches.
	Winner   bool
	Seq      db.Seq
	Branches int64
	// Ancestors are the encoded ids, newest first. The memory is not shared with the engine.
	Ancestors []byte
	// Size is the size of the leaf's stored body, and Attachments their number. They are unknown if Size is 0.
	Size, Attachments int32
}

// Branch decodes the ancestors.
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

// Order compares two leaves in the order of their keys (R2).
func (l *LeafKV) Order(m *LeafKV) int {
	return revtree.Branch{Rev: l.Rev, Deleted: l.Deleted}.Compare(revtree.Branch{Rev: m.Rev, Deleted: m.Deleted})
}

// ParseLeafKey decodes NotDeleted, RevPosition and RevHash: the part of the key after the document's prefix.
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

// ParseLeafValue decodes (RevFormat, Incarnation, Versionstamp, BranchCount, [ancestors], size...) of a winner, or
// (RevFormat, [ancestors], size...) of another branch. The ancestors and the size are only decoded with withHistory.
func ParseLeafValue(l *LeafKV, value []byte, withHistory bool) error {
	format, rest, err := tuple.TakeInt(value)
	if err != nil {
		return db.Corrupt("revision", err)
	}
	if format < 1 || format > keyspace.RevFormat {
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
		elements, size, err := tuple.TakeNested(rest)
		if err != nil {
			return db.Corrupt("revision", err)
		}
		l.Ancestors = append([]byte(nil), elements...)
		return l.takeSize(size)
	}
	return nil
}

func (l *LeafKV) takeSize(b []byte) error {
	l.Size, l.Attachments = 0, 0
	if len(b) == 0 {
		return nil
	}
	size, b, err := tuple.TakeInt(b)
	attachments := int64(0)
	if err == nil && len(b) > 0 {
		attachments, _, err = tuple.TakeInt(b)
	}
	if err != nil {
		return db.Corrupt("revision", err)
	}
	l.Size, l.Attachments = int32(size), int32(attachments)
	return nil
}

var nestedCode = tuple.BeginNested(nil)[0]

// ReadLeaves decodes a range read of one document's branches, in the order of the read. prefixLen is the length of
// (Revisions, DocID).
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

// AppendWinnerValue appends a winner's value, and returns the offset of the commit's versionstamp.
func AppendWinnerValue(dst []byte, incarnation int64, user uint16, branches int64, l *LeafKV) (value []byte,
	offset int) {
	from := len(dst)
	dst = tuple.AppendInt(dst, keyspace.RevFormat)
	dst = tuple.AppendInt(dst, incarnation)
	offset = len(dst) - from + 1
	dst = tuple.AppendVersionstamp(dst, tuple.IncompleteVersionstamp(user))
	dst = tuple.AppendInt(dst, branches)
	return l.appendRest(dst), offset
}

// AppendWinnerAt appends a winner's value with a known sequence.
func AppendWinnerAt(dst []byte, seq db.Seq, branches int64, l *LeafKV) []byte {
	dst = seq.AppendTuple(tuple.AppendInt(dst, keyspace.RevFormat))
	return l.appendRest(tuple.AppendInt(dst, branches))
}

// AppendLeafValue appends the value of a branch that is not the winner.
func AppendLeafValue(dst []byte, l *LeafKV) []byte {
	return l.appendRest(tuple.AppendInt(dst, keyspace.RevFormat))
}

// appendRest appends the history and the size.
func (l *LeafKV) appendRest(dst []byte) []byte {
	if dst = AppendHistory(dst, l.Ancestors); l.Size == 0 {
		return dst
	}
	if dst = tuple.AppendInt(dst, int64(l.Size)); l.Attachments > 0 {
		dst = tuple.AppendInt(dst, int64(l.Attachments))
	}
	return dst
}

// AppendHistory appends encoded ancestors as a nested tuple.
func AppendHistory(dst, ancestors []byte) []byte {
	dst = tuple.BeginNested(dst)
	dst = append(dst, ancestors...)
	return tuple.EndNested(dst)
}

// maxHistory limits the encoded ancestors, so that a value stays below kv.MaxValueSize even with long text ids, or
// hashes that consist of zero bytes.
const maxHistory = 96_000

// ExtendHistory encodes the ancestors of a child of l, at most limit-1 of them (R5).
func ExtendHistory(l *LeafKV, limit int) []byte {
	dst := db.AppendRevID(make([]byte, 0, len(l.Ancestors)+18), l.Rev.ID)
	if limit <= 1 {
		return nil
	}
	return append(dst, cutHistory(l.Ancestors, limit-2, maxHistory-len(dst))...)
}

// EncodeHistory encodes ancestors that a merge has already stemmed.
func EncodeHistory(ids []string) []byte {
	dst := make([]byte, 0, 18*len(ids))
	for _, id := range ids {
		dst = db.AppendRevID(dst, id)
	}
	return cutHistory(dst, len(ids), maxHistory)
}

// cutHistory keeps the newest ids: at most n, in at most size bytes.
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

// SizeOf returns the approximate number of bytes that leaves were read from.
func SizeOf(leaves []LeafKV) int {
	n := LeafOverhead * len(leaves)
	for i := range leaves {
		n += len(leaves[i].Ancestors)
	}
	return n
}

// FewBranches is the number of branches up to which revtree.Merge is faster than building a Tree.
const FewBranches = 8

// EachWinner calls take with the winner of each document in a range of branches, by id, until take returns false.
// prefix is the length of (Revisions).
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

// LeafOverhead is the approximate size of a leaf's row without its history.
const LeafOverhead = 64

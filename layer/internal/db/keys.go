package db

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// Space is the keys of one database: all begin with (Data, prefix number). Its functions append a key to dst.
type Space struct{ Prefix []byte }

func (s Space) Sub(dst []byte, sub keyspace.Subspace) []byte {
	dst = append(dst, s.Prefix...)
	return tuple.AppendInt(dst, int64(sub))
}

func (s Space) Doc(dst []byte, sub keyspace.Subspace, id string) []byte {
	return tuple.AppendString(s.Sub(dst, sub), id)
}

// Revision is (Revisions, DocID, NotDeleted, RevPosition, RevHash) (R1).
func (s Space) Revision(dst []byte, id string, deleted bool, r Rev) []byte {
	dst = s.Doc(dst, keyspace.Revisions, id)
	dst = tuple.AppendBool(dst, !deleted)
	return AppendRev(dst, r)
}

// Body is (Documents, DocID, RevPosition, RevHash, chunk).
func (s Space) Body(dst []byte, id string, r Rev, chunk int) []byte {
	dst = s.Doc(dst, keyspace.Documents, id)
	dst = AppendRev(dst, r)
	return tuple.AppendInt(dst, int64(chunk))
}

// BodyOf is body for a document and a revision as keys and values have them, for chunk 0.
func (s Space) BodyOf(keys *RawKeys, id, rev []byte) []byte {
	dst := append(append(s.Sub(keys.Open(), keyspace.Documents), id...), rev...)
	return keys.Close(tuple.AppendInt(dst, 0))
}

// Feed is what the entries of a changes shard begin with. The shard "" is the deprecated subspace (P7).
func (s Space) Feed(dst []byte, shard ShardID) []byte {
	if shard == "" {
		return s.Sub(dst, keyspace.ChangesDeprecated)
	}
	return tuple.AppendString(s.Sub(dst, keyspace.Changes), string(shard))
}

// Entry is (Changes, ShardID, Incarnation, Versionstamp) (C1, P1).
func (s Space) Entry(dst []byte, shard ShardID, seq Seq) []byte {
	return seq.AppendTuple(s.Feed(dst, shard))
}

// Attachment is what the chunks of an attachment begin with: (Attachments, DocID, AttachmentID).
func (s Space) Attachment(dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(s.Doc(dst, keyspace.Attachments, id), attachment)
}

func (s Space) Config(dst []byte, name string) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Config), name)
}

func (s Space) Counter(dst []byte, name string) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Counters), name)
}

// ShardCounter is (ShardCounters, ShardID, name).
func (s Space) ShardCounter(dst []byte, shard ShardID, name string) []byte {
	return tuple.AppendString(tuple.AppendString(s.Sub(dst, keyspace.ShardCounters), string(shard)), name)
}

// Superseded is what the queue of a shard's superseded bodies begins with: (ShardSuperseded, ShardID).
func (s Space) Superseded(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.ShardSuperseded), string(shard))
}

// PartitionCounter is (Counters, name, partition).
func (s Space) PartitionCounter(dst []byte, partition, name string) []byte {
	return tuple.AppendString(s.Counter(dst, name), partition)
}

func (s Space) Wake(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Wake), string(shard))
}

// PrefixRange is every key that begins with prefix followed by at least one element.
func PrefixRange(prefix []byte) kv.KeyRange {
	begin, end := tuple.Range(prefix)
	return kv.KeyRange{Begin: begin, End: end}
}

// AppendRev appends a revision's two elements. Hashes are 16 bytes, other ids strings.
func AppendRev(dst []byte, r Rev) []byte {
	dst = tuple.AppendInt(dst, r.Pos)
	return AppendRevID(dst, r.ID)
}

func AppendRevID(dst []byte, id string) []byte {
	if !(Rev{ID: id}).IsHash() {
		return tuple.AppendString(dst, id)
	}
	var raw [16]byte
	for i := range raw {
		raw[i] = hexValue[id[2*i]]<<4 | hexValue[id[2*i+1]]
	}
	return tuple.AppendBytes(dst, raw[:])
}

// hexValue is what a hex digit stands for.
var hexValue = func() (table [256]byte) {
	for i := range jsontext.HexDigits {
		table[jsontext.HexDigits[i]] = byte(i)
	}
	return table
}()

var errRevElement = errors.New("revision id is neither 16 bytes nor a string")

// TakeRevID reads what AppendRevID wrote.
func TakeRevID(b []byte) (id string, rest []byte, err error) {
	if len(b) > 0 && b[0] == revTextCode {
		return tuple.TakeString(b)
	}
	raw, rest, err := tuple.TakeBytes(b)
	if err != nil {
		return "", nil, err
	}
	if len(raw) != 16 {
		return "", nil, errRevElement
	}
	var text [32]byte
	for i, c := range raw {
		text[2*i], text[2*i+1] = jsontext.HexDigits[c>>4], jsontext.HexDigits[c&15]
	}
	return string(text[:]), rest, nil
}

// revTextCode is the type code of a tuple's string.
var revTextCode = tuple.AppendString(nil, "")[0]

func TakeRev(b []byte) (r Rev, rest []byte, err error) {
	if r.Pos, rest, err = tuple.TakeInt(b); err != nil {
		return r, nil, err
	}
	r.ID, rest, err = TakeRevID(rest)
	return r, rest, err
}

// revPair is the value (RevPosition, RevHash) of AllDocs.
func ParseRevPair(value []byte) (Rev, error) {
	r, _, err := TakeRev(value)
	return r, err
}

// Corrupt says that stored bytes cannot be read. It is Internal: nobody's request is wrong.
func Corrupt(what string, err error) error { return &CorruptError{what, err} }

type CorruptError struct {
	what string
	err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("layer: stored %s cannot be read: %v", e.what, e.err)
}
func (e *CorruptError) Unwrap() error { return e.err }

// What says what cannot be read and why, to go on a sentence.
func (e *CorruptError) What() string { return fmt.Sprintf("%s cannot be read: %v", e.what, e.err) }

// UnknownFormat refuses a value format that this version does not know (R8).
func UnknownFormat(what string, got, known int64) error {
	return fault.Errf(fault.Internal, "", "%s has format %d; this version of Divan knows up to %d", what, got, known)
}

// RawKeys builds keys and values in blocks, so that a transaction with thousands of them allocates a few times. The
// engine copies what it is given to write, but futures of reads may hold their keys: blocks are never reused.
type RawKeys struct{ block []byte }

// Open returns an empty slice to append a key to; close ends it. Only one can be open.
func (r *RawKeys) Open() []byte {
	if cap(r.block)-len(r.block) < 1024 {
		r.block = make([]byte, 0, min(max(4096, 2*cap(r.block)), 64<<10))
	}
	n := len(r.block)
	return r.block[n:n]
}

// Close ends a key begun with open and returns it.
func (r *RawKeys) Close(key []byte) []byte {
	n := len(r.block)
	if len(key) > 0 && n < cap(r.block) && &key[0] == &r.block[:n+1][n] {
		r.block = r.block[:n+len(key)]
	}
	return key[:len(key):len(key)]
}

// SingleKey is the range of one key.
func SingleKey(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: key, End: append(key[:len(key):len(key)], 0)}
}

// Intersect is what two ranges have in common, if anything.
func Intersect(a, b kv.KeyRange) (kv.KeyRange, bool) {
	if !Overlap(a, b) {
		return a, false
	}
	if bytes.Compare(a.Begin, b.Begin) < 0 {
		a.Begin = b.Begin
	}
	if bytes.Compare(b.End, a.End) < 0 {
		a.End = b.End
	}
	return a, true
}

// FirstRow is the first row of a range, or the last; nil if it is empty. The caller may keep it.
func FirstRow(r kv.Reader, in kv.KeyRange, reverse bool) (*kv.KeyValue, error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: 1, Reverse: reverse, Mode: kv.ModeExact})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	row := it.KeyValue()
	return &kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)}, nil
}

func Overlap(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}

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

// Space builds the keys of one database, which all begin with (Data, prefix number). Its methods append a key to dst.
type Space struct{ Prefix []byte }

// Sub is the prefix of a subspace.
func (s Space) Sub(dst []byte, sub keyspace.Subspace) []byte {
	dst = append(dst, s.Prefix...)
	return tuple.AppendInt(dst, int64(sub))
}

// Doc is the prefix of a document's keys in a subspace.
func (s Space) Doc(dst []byte, sub keyspace.Subspace, id string) []byte {
	return tuple.AppendString(tuple.AppendInt(append(dst, s.Prefix...), int64(sub)), id)
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

// BodyOf is Body with an encoded document id and revision, as in keys and values, and chunk 0.
func (s Space) BodyOf(keys *RawKeys, id, rev []byte) []byte {
	dst := append(append(s.Sub(keys.Open(), keyspace.Documents), id...), rev...)
	return keys.Close(tuple.AppendInt(dst, 0))
}

// Feed is the prefix of the entries of a changes shard. The shard "" is the deprecated subspace (P7).
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

// Attachment is the prefix of an attachment's chunks: (Attachments, DocID, AttachmentID).
func (s Space) Attachment(dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(s.Doc(dst, keyspace.Attachments, id), attachment)
}

// Config is (Config, name).
func (s Space) Config(dst []byte, name string) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Config), name)
}

// Counter is (Counters, name).
func (s Space) Counter(dst []byte, name string) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Counters), name)
}

// ShardCounter is (ShardCounters, ShardID, name).
func (s Space) ShardCounter(dst []byte, shard ShardID, name string) []byte {
	return tuple.AppendString(tuple.AppendString(s.Sub(dst, keyspace.ShardCounters), string(shard)), name)
}

// Superseded is the prefix of a shard's queue of superseded bodies: (ShardSuperseded, ShardID).
func (s Space) Superseded(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.ShardSuperseded), string(shard))
}

// PartitionCounter is (Counters, name, partition).
func (s Space) PartitionCounter(dst []byte, partition, name string) []byte {
	return tuple.AppendString(s.Counter(dst, name), partition)
}

// Wake is (Wake, ShardID).
func (s Space) Wake(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.Sub(dst, keyspace.Wake), string(shard))
}

// PrefixRange returns the range of all keys that consist of prefix and at least one more element.
func PrefixRange(prefix []byte) kv.KeyRange {
	begin, end := tuple.Range(prefix)
	return kv.KeyRange{Begin: begin, End: end}
}

// AppendRev appends a revision's two elements. Hashes are encoded as 16 bytes, other ids as strings.
func AppendRev(dst []byte, r Rev) []byte {
	dst = tuple.AppendInt(dst, r.Pos)
	return AppendRevID(dst, r.ID)
}

// AppendRevID appends the id of a revision: 16 bytes if it is a hash, otherwise a string.
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

// hexValue maps a hex digit to its value.
var hexValue = func() (table [256]byte) {
	for i := range jsontext.HexDigits {
		table[jsontext.HexDigits[i]] = byte(i)
	}
	return table
}()

var errRevElement = errors.New("revision id is neither 16 bytes nor a string")

// TakeRevID decodes what AppendRevID encoded.
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

// TakeRev decodes what AppendRev encoded.
func TakeRev(b []byte) (r Rev, rest []byte, err error) {
	if r.Pos, rest, err = tuple.TakeInt(b); err != nil {
		return r, nil, err
	}
	r.ID, rest, err = TakeRevID(rest)
	return r, rest, err
}

// ParseRevPair decodes (RevPosition, RevHash), the value of AllDocs.
func ParseRevPair(value []byte) (Rev, error) {
	r, _, err := TakeRev(value)
	return r, err
}

// Corrupt returns an error that reports unreadable stored bytes. Its kind is Internal, because no request is to blame.
func Corrupt(what string, err error) error { return &CorruptError{what, err} }

// CorruptError reports unreadable stored bytes. See Corrupt.
type CorruptError struct {
	what string
	err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("layer: stored %s cannot be read: %v", e.what, e.err)
}
func (e *CorruptError) Unwrap() error { return e.err }

// What returns what cannot be read and why, as a part of a sentence.
func (e *CorruptError) What() string { return fmt.Sprintf("%s cannot be read: %v", e.what, e.err) }

// UnknownFormat returns an error for a value format that this version does not know (R8).
func UnknownFormat(what string, got, known int64) error {
	return fault.Errf(fault.Internal, "", "%s has format %d; this version of Divan knows up to %d", what, got, known)
}

// RawKeys builds keys and values in blocks, so that a transaction with thousands of them needs only a few allocations.
// The engine copies what is written, but futures of reads may refer to their keys, so blocks are never reused. Blocks
// begin small, because most transactions read or write a single document.
type RawKeys struct{ block []byte }

// keyRoom is the least free space of a block in which a key is begun. A longer key than fits gets memory of its own.
const keyRoom = 128

// Open returns an empty slice to append a key to; Close ends the key. Only one key can be open.
func (r *RawKeys) Open() []byte {
	if cap(r.block)-len(r.block) < keyRoom {
		r.block = make([]byte, 0, min(max(4*keyRoom, 2*cap(r.block)), 64<<10))
	}
	n := len(r.block)
	return r.block[n:n]
}

// Close ends a key begun with Open and returns it.
func (r *RawKeys) Close(key []byte) []byte {
	n := len(r.block)
	switch {
	case len(key) == 0:
	case n < cap(r.block) && &key[0] == &r.block[:n+1][n]:
		r.block = r.block[:n+len(key)]
	default:
		r.block = r.block[:cap(r.block)] // the next one begins a longer block
	}
	return key[:len(key):len(key)]
}

// SingleKey returns the range that contains only key.
func SingleKey(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: key, End: append(key[:len(key):len(key)], 0)}
}

// Intersect returns the intersection of two ranges, and false if it is empty.
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

// FirstRow returns the first row of a range, or the last one if reverse is set, or nil if the range is empty. The
// caller may keep it.
func FirstRow(r kv.Reader, in kv.KeyRange, reverse bool) (*kv.KeyValue, error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: 1, Reverse: reverse, Mode: kv.ModeExact})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	row := it.KeyValue()
	return &kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)}, nil
}

// Overlap reports whether two ranges have keys in common.
func Overlap(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}

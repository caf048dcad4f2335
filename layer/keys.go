package layer

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// space is the keys of one database: all begin with (Data, prefix number). Its functions append a key to dst.
type space struct{ prefix []byte }

func (s space) sub(dst []byte, sub keyspace.Subspace) []byte {
	dst = append(dst, s.prefix...)
	return tuple.AppendInt(dst, int64(sub))
}

func (s space) doc(dst []byte, sub keyspace.Subspace, id string) []byte {
	return tuple.AppendString(s.sub(dst, sub), id)
}

// revision is (Revisions, DocID, NotDeleted, RevPosition, RevHash) (R1).
func (s space) revision(dst []byte, id string, deleted bool, r Rev) []byte {
	dst = s.doc(dst, keyspace.Revisions, id)
	dst = tuple.AppendBool(dst, !deleted)
	return appendRev(dst, r)
}

// body is (Documents, DocID, RevPosition, RevHash, chunk).
func (s space) body(dst []byte, id string, r Rev, chunk int) []byte {
	dst = s.doc(dst, keyspace.Documents, id)
	dst = appendRev(dst, r)
	return tuple.AppendInt(dst, int64(chunk))
}

// bodyOf is body for a document and a revision as keys and values have them, for chunk 0.
func (s space) bodyOf(keys *rawKeys, id, rev []byte) []byte {
	dst := append(append(s.sub(keys.open(), keyspace.Documents), id...), rev...)
	return keys.close(tuple.AppendInt(dst, 0))
}

// feed is what the entries of a changes shard begin with. The shard "" is the deprecated subspace (P7).
func (s space) feed(dst []byte, shard ShardID) []byte {
	if shard == "" {
		return s.sub(dst, keyspace.ChangesDeprecated)
	}
	return tuple.AppendString(s.sub(dst, keyspace.Changes), string(shard))
}

// entry is (Changes, ShardID, Incarnation, Versionstamp) (C1, P1).
func (s space) entry(dst []byte, shard ShardID, seq Seq) []byte {
	return seq.appendTuple(s.feed(dst, shard))
}

// attachment is what the chunks of an attachment begin with: (Attachments, DocID, AttachmentID).
func (s space) attachment(dst []byte, id string, attachment [16]byte) []byte {
	return tuple.AppendUUID(s.doc(dst, keyspace.Attachments, id), attachment)
}

func (s space) config(dst []byte, name string) []byte {
	return tuple.AppendString(s.sub(dst, keyspace.Config), name)
}

func (s space) counter(dst []byte, name string) []byte {
	return tuple.AppendString(s.sub(dst, keyspace.Counters), name)
}

// shardCounter is (ShardCounters, ShardID, name).
func (s space) shardCounter(dst []byte, shard ShardID, name string) []byte {
	return tuple.AppendString(tuple.AppendString(s.sub(dst, keyspace.ShardCounters), string(shard)), name)
}

// superseded is what the queue of a shard's superseded bodies begins with: (ShardSuperseded, ShardID).
func (s space) superseded(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.sub(dst, keyspace.ShardSuperseded), string(shard))
}

// partitionCounter is (Counters, name, partition).
func (s space) partitionCounter(dst []byte, partition, name string) []byte {
	return tuple.AppendString(s.counter(dst, name), partition)
}

func (s space) wake(dst []byte, shard ShardID) []byte {
	return tuple.AppendString(s.sub(dst, keyspace.Wake), string(shard))
}

// prefixRange is every key that begins with prefix followed by at least one element.
func prefixRange(prefix []byte) kv.KeyRange {
	begin, end := tuple.Range(prefix)
	return kv.KeyRange{Begin: begin, End: end}
}

// appendRev appends a revision's two elements. Hashes are 16 bytes, other ids strings.
func appendRev(dst []byte, r Rev) []byte {
	dst = tuple.AppendInt(dst, r.Pos)
	return appendRevID(dst, r.ID)
}

func appendRevID(dst []byte, id string) []byte {
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
	for i := range hexDigits {
		table[hexDigits[i]] = byte(i)
	}
	return table
}()

var errRevElement = errors.New("revision id is neither 16 bytes nor a string")

// takeRevID reads what appendRevID wrote.
func takeRevID(b []byte) (id string, rest []byte, err error) {
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
		text[2*i], text[2*i+1] = hexDigits[c>>4], hexDigits[c&15]
	}
	return string(text[:]), rest, nil
}

// revTextCode is the type code of a tuple's string.
var revTextCode = tuple.AppendString(nil, "")[0]

func takeRev(b []byte) (r Rev, rest []byte, err error) {
	if r.Pos, rest, err = tuple.TakeInt(b); err != nil {
		return r, nil, err
	}
	r.ID, rest, err = takeRevID(rest)
	return r, rest, err
}

// revPair is the value (RevPosition, RevHash) of AllDocs.
func parseRevPair(value []byte) (Rev, error) {
	r, _, err := takeRev(value)
	return r, err
}

// corrupt says that stored bytes cannot be read. It is Internal: nobody's request is wrong.
func corrupt(what string, err error) error { return &corruptError{what, err} }

type corruptError struct {
	what string
	err  error
}

func (e *corruptError) Error() string {
	return fmt.Sprintf("layer: stored %s cannot be read: %v", e.what, e.err)
}
func (e *corruptError) Unwrap() error { return e.err }

// unknownFormat refuses a value format that this version does not know (R8).
func unknownFormat(what string, got, known int64) error {
	return errf(Internal, "", "%s has format %d; this version of Divan knows up to %d", what, got, known)
}

// rawKeys builds keys and values in blocks, so that a transaction with thousands of them allocates a few times. The
// engine copies what it is given to write, but futures of reads may hold their keys: blocks are never reused.
type rawKeys struct{ block []byte }

// open returns an empty slice to append a key to; close ends it. Only one can be open.
func (r *rawKeys) open() []byte {
	if cap(r.block)-len(r.block) < 1024 {
		r.block = make([]byte, 0, min(max(4096, 2*cap(r.block)), 64<<10))
	}
	n := len(r.block)
	return r.block[n:n]
}

// close ends a key begun with open and returns it.
func (r *rawKeys) close(key []byte) []byte {
	n := len(r.block)
	if len(key) > 0 && n < cap(r.block) && &key[0] == &r.block[:n+1][n] {
		r.block = r.block[:n+len(key)]
	}
	return key[:len(key):len(key)]
}

// singleKey is the range of one key.
func singleKey(key []byte) kv.KeyRange {
	return kv.KeyRange{Begin: key, End: append(key[:len(key):len(key)], 0)}
}

// intersect is what two ranges have in common, if anything.
func intersect(a, b kv.KeyRange) (kv.KeyRange, bool) {
	if !overlap(a, b) {
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

// firstRow is the first row of a range, or the last; nil if it is empty. The caller may keep it.
func firstRow(r kv.Reader, in kv.KeyRange, reverse bool) (*kv.KeyValue, error) {
	it := r.GetRange(in, kv.RangeOptions{Limit: 1, Reverse: reverse, Mode: kv.ModeExact})
	defer it.Close()
	if !it.Next() {
		return nil, it.Err()
	}
	row := it.KeyValue()
	return &kv.KeyValue{Key: bytes.Clone(row.Key), Value: bytes.Clone(row.Value)}, nil
}

func overlap(a, b kv.KeyRange) bool {
	return bytes.Compare(a.Begin, b.End) < 0 && bytes.Compare(b.Begin, a.End) < 0
}

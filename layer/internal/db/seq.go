package db

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/tuple"
)

// Seq is a sequence: an incarnation and a 12-byte versionstamp (C2). The zero Seq is before everything ("0").
type Seq struct {
	Incarnation int64
	Stamp       [12]byte
}

// IsZero reports whether s is before everything.
func (s Seq) IsZero() bool { return s == Seq{} }

// String returns lower-case hex of the tuple-encoded incarnation and the versionstamp: 26 characters for incarnation 0.
// Strings sort like sequences. The zero Seq is "0".
func (s Seq) String() string {
	var b [48]byte
	return string(s.Append(b[:0]))
}

// Append appends String's form.
func (s Seq) Append(dst []byte) []byte {
	if s.IsZero() {
		return append(dst, '0')
	}
	var b [24]byte
	raw := tuple.AppendInt(b[:0], s.Incarnation)
	raw = append(raw, s.Stamp[:]...)
	return hex.AppendEncode(dst, raw)
}

// ParseSeq parses String's form and "0". It returns Invalid for anything else, including "now", for which LastSeq is
// used.
func ParseSeq(s string) (Seq, error) {
	if s == "0" {
		return Seq{}, nil
	}
	malformed := fault.Errf(fault.Invalid, "bad_request", "Malformed sequence supplied in 'since' parameter.")
	if len(s) < 26 || len(s) > 42 {
		return Seq{}, malformed
	}
	raw, err := hex.DecodeString(s)
	if err != nil {
		return Seq{}, malformed
	}
	incarnation, rest, err := tuple.TakeInt(raw)
	if err != nil || incarnation < 0 || len(rest) != 12 {
		return Seq{}, malformed
	}
	seq := Seq{Incarnation: incarnation, Stamp: [12]byte(rest)}
	if seq.String() != s {
		// Upper case, or an incarnation that is not in its shortest form, would not sort correctly.
		return Seq{}, malformed
	}
	return seq, nil
}

// Compare compares sequences by their order.
func (s Seq) Compare(t Seq) int {
	if c := cmp.Compare(s.Incarnation, t.Incarnation); c != 0 {
		return c
	}
	return bytes.Compare(s.Stamp[:], t.Stamp[:])
}

// Version returns the version of the store that committed the change.
func (s Seq) Version() int64 { return int64(binary.BigEndian.Uint64(s.Stamp[:])) }

// AppendTuple appends the two elements that encode a sequence in keys and values: incarnation and versionstamp.
func (s Seq) AppendTuple(dst []byte) []byte {
	dst = tuple.AppendInt(dst, s.Incarnation)
	return tuple.AppendVersionstamp(dst, s.Versionstamp())
}

// Versionstamp returns the versionstamp in the form of package tuple.
func (s Seq) Versionstamp() tuple.Versionstamp {
	return tuple.Versionstamp{Transaction: [10]byte(s.Stamp[:10]), User: binary.BigEndian.Uint16(s.Stamp[10:])}
}

// TakeSeq decodes what AppendTuple encoded.
func TakeSeq(b []byte) (s Seq, rest []byte, err error) {
	if s.Incarnation, rest, err = tuple.TakeInt(b); err != nil {
		return s, nil, err
	}
	v, rest, err := tuple.TakeVersionstamp(rest)
	if err != nil {
		return s, nil, err
	}
	copy(s.Stamp[:], v.Transaction[:])
	binary.BigEndian.PutUint16(s.Stamp[10:], v.User)
	return s, rest, nil
}

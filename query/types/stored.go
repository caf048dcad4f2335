package types

import (
	"encoding/binary"
	"errors"
)

// errStored is the error of a stored value that cannot be read.
var errStored = errors.New("a value in a temporary file is damaged")

// AppendStored appends a value in a form that ReadStored reads back exactly. The form is for temporary files: it may
// change between versions.
func AppendStored(dst []byte, d Datum) []byte {
	dst = append(dst, byte(d.K))
	switch d.K {
	case KNull:
	case KText, KBytes, KJSON:
		dst = binary.AppendVarint(dst, d.I)
		dst = appendStoredText(dst, d.S)
	case KNumeric:
		n := d.Decimal()
		dst = append(dst, byte(n.special), byte(n.coef.Sign()+1))
		dst = binary.AppendVarint(dst, int64(n.scale))
		coef := n.coef.Bytes()
		dst = binary.AppendUvarint(dst, uint64(len(coef)))
		dst = append(dst, coef...)
	case KInterval:
		s := d.Span()
		dst = binary.AppendVarint(dst, int64(s.Months))
		dst = binary.AppendVarint(dst, int64(s.Days))
		dst = binary.AppendVarint(dst, s.Micros)
	case KArray, KRecord:
		dst = appendStoredArray(dst, d.Array())
	default:
		dst = binary.AppendVarint(dst, d.I)
		dst = appendStoredText(dst, d.S)
	}
	return dst
}

func appendStoredText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func appendStoredArray(dst []byte, a *Array) []byte {
	dst = binary.AppendVarint(dst, int64(a.Elem))
	dst = binary.AppendVarint(dst, int64(a.Lower))
	dst = binary.AppendUvarint(dst, uint64(len(a.Types)))
	for _, t := range a.Types {
		dst = binary.AppendVarint(dst, int64(t))
	}
	// No names are different from an empty list.
	dst = binary.AppendUvarint(dst, uint64(len(a.Names)))
	for _, n := range a.Names {
		dst = appendStoredText(dst, n)
	}
	dst = binary.AppendUvarint(dst, uint64(len(a.Items)))
	for _, it := range a.Items {
		dst = AppendStored(dst, it)
	}
	return dst
}

// ReadStored reads a value that AppendStored wrote and returns the rest of src. Texts of the value share src's memory.
func ReadStored(src string) (Datum, string, error) {
	r := storedReader{src: src}
	d := r.datum()
	if r.bad {
		return Null, "", errStored
	}
	return d, r.src, nil
}

// storedReader reads stored values. After bad has been set its results have no meaning.
type storedReader struct {
	src string
	bad bool
}

func (r *storedReader) take(n int) string {
	if n < 0 || n > len(r.src) {
		r.bad, r.src = true, ""
		return ""
	}
	s := r.src[:n]
	r.src = r.src[n:]
	return s
}

func (r *storedReader) octet() byte {
	if s := r.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *storedReader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.octet()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

func (r *storedReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// count reads the number of items that follow, each of at least one byte.
func (r *storedReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.src)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *storedReader) datum() Datum {
	k := Kind(r.octet())
	switch k {
	case KNull:
		return Null
	case KNumeric:
		n := &Decimal{special: special(r.octet())}
		negative := r.octet() == 0
		n.scale = int32(r.varint())
		n.coef.SetBytes([]byte(r.take(r.count())))
		if negative {
			n.coef.Neg(&n.coef)
		}
		return NewNumeric(n)
	case KInterval:
		return NewInterval(Span{Months: int32(r.varint()), Days: int32(r.varint()), Micros: r.varint()})
	case KArray, KRecord:
		d := NewArray(0, nil)
		d.K = k
		r.array(d.Array())
		return d
	}
	return Datum{K: k, I: r.varint(), S: r.take(r.count())}
}

func (r *storedReader) array(a *Array) {
	a.Elem, a.Lower = OID(r.varint()), int(r.varint())
	for range r.count() {
		a.Types = append(a.Types, OID(r.varint()))
	}
	for range r.count() {
		a.Names = append(a.Names, r.take(r.count()))
	}
	a.Items = make([]Datum, r.count())
	for i := range a.Items {
		if r.bad {
			return
		}
		a.Items[i] = r.datum()
	}
}

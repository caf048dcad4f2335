package types

import (
	"math"
	"strings"
	"unsafe"
)

// Kind is the representation of a Datum.
type Kind uint8

// Representations. Several types share one: the type is a property of the expression, not of the value.
const (
	KNull       Kind = iota
	KBool            // I is 0 or 1
	KInt             // I; reg types also keep their name in S
	KFloat           // I holds the bits of the float
	KNumeric         // N
	KText            // S, followed by I blanks of a char(n), which matter only for display
	KBytes           // S
	KJSON            // S, a valid JSON text as received
	KTime            // I, microseconds since 2000-01-01 00:00:00 UTC (timestamp: as if in UTC)
	KDate            // I, days since 2000-01-01
	KInterval        // V
	KArray           // A
	KRecord          // A, elements of the types in A.Types
	KClock           // I, microseconds since midnight
	KZonedClock      // I, see NewZonedClock
)

// Datum is one value. The zero Datum is NULL. Memory it points to is shared and must not be changed.
type Datum struct {
	K Kind
	I int64
	S string
	p unsafe.Pointer // *Decimal, *Array or *Span, depending on K
}

// Array is a one-dimensional array or a record.
type Array struct {
	Elem  OID
	Types []OID // of a record
	// Names are the names of a record's fields; nil means f1, f2 and so on.
	Names []string
	Items []Datum
	// Lower is the lower bound: 1, except 0 for int2vector and oidvector.
	Lower int
}

// Null is the null value.
var Null = Datum{}

// NewBool returns a boolean.
func NewBool(b bool) Datum {
	if b {
		return Datum{K: KBool, I: 1}
	}
	return Datum{K: KBool}
}

// NewInt returns an integer of any width, or an OID.
func NewInt(i int64) Datum { return Datum{K: KInt, I: i} }

// NewFloat returns a float4 or float8.
func NewFloat(f float64) Datum { return Datum{K: KFloat, I: int64(math.Float64bits(f))} }

// NewText returns a value of a string type.
func NewText(s string) Datum { return Datum{K: KText, S: s} }

// NewPadded returns a char(n). Trailing blanks of s are stored as a count.
func NewPadded(s string) Datum {
	text := strings.TrimRight(s, " ")
	return Datum{K: KText, S: text, I: int64(len(s) - len(text))}
}

// padded returns the text of a KText with its blanks.
func (d Datum) padded() string {
	if d.I == 0 {
		return d.S
	}
	return d.S + strings.Repeat(" ", int(d.I))
}

// NewBytes returns a bytea.
func NewBytes(b []byte) Datum { return Datum{K: KBytes, S: string(b)} }

// NewJSON returns a json or jsonb. raw must be valid JSON; it is not copied and must not be changed afterwards.
func NewJSON(raw []byte) Datum {
	return Datum{K: KJSON, S: unsafe.String(unsafe.SliceData(raw), len(raw))}
}

// NewJSONText is NewJSON for a string.
func NewJSONText(s string) Datum { return Datum{K: KJSON, S: s} }

// NewNumeric returns a numeric.
func NewNumeric(d *Decimal) Datum { return Datum{K: KNumeric, p: unsafe.Pointer(d)} }

// NewTime returns a timestamp or timestamptz of microseconds since 2000.
func NewTime(micros int64) Datum { return Datum{K: KTime, I: micros} }

// NewClock returns a time of microseconds since midnight.
func NewClock(micros int64) Datum { return Datum{K: KClock, I: micros} }

// NewDate returns a date of days since 2000.
func NewDate(days int64) Datum { return Datum{K: KDate, I: days} }

// NewInterval returns an interval.
func NewInterval(s Span) Datum { return Datum{K: KInterval, p: unsafe.Pointer(&s)} }

// NewArray returns an array with lower bound 1.
func NewArray(elem OID, items []Datum) Datum {
	return Datum{K: KArray, p: unsafe.Pointer(&Array{Elem: elem, Items: items, Lower: 1})}
}

// NewVector returns an int2vector or oidvector, whose lower bound is 0.
func NewVector(elem OID, items []Datum) Datum {
	return Datum{K: KArray, p: unsafe.Pointer(&Array{Elem: elem, Items: items, Lower: 0})}
}

// NewRecord returns a record; see Array for names.
func NewRecord(types []OID, names []string, items []Datum) Datum {
	return Datum{K: KRecord, p: unsafe.Pointer(&Array{Types: types, Names: names, Items: items, Lower: 1})}
}

// IsNull reports whether d is NULL.
func (d Datum) IsNull() bool { return d.K == KNull }

// True reports whether d is the boolean true, as a WHERE clause requires.
func (d Datum) True() bool { return d.K == KBool && d.I != 0 }

// Float returns the value of a KFloat.
func (d Datum) Float() float64 { return math.Float64frombits(uint64(d.I)) }

// Decimal returns the value of a KNumeric.
func (d Datum) Decimal() *Decimal { return (*Decimal)(d.p) }

// Array returns the value of a KArray or KRecord.
func (d Datum) Array() *Array { return (*Array)(d.p) }

// Span returns the value of a KInterval.
func (d Datum) Span() Span { return *(*Span)(d.p) }

// Size estimates the memory that d holds in bytes, for the limits of sorting and grouping.
func (d Datum) Size() int64 {
	n := int64(unsafe.Sizeof(d)) + int64(len(d.S))
	switch d.K {
	case KNumeric:
		n += 48 + int64(len(d.Decimal().coef.Bits()))*8
	case KInterval:
		n += 24
	case KArray, KRecord:
		for _, it := range d.Array().Items {
			n += it.Size()
		}
	}
	return n
}

// Large returns the approximate memory of d in bytes if it is large enough to be counted individually, otherwise 0.
func (d Datum) Large() int64 {
	const worth = 4 << 10
	n := int64(len(d.S))
	switch d.K {
	case KNumeric:
		n = int64(len(d.Decimal().coef.Bits())) * 8
	case KArray, KRecord:
		n = int64(len(d.Array().Items)) * int64(unsafe.Sizeof(d))
	}
	if n < worth {
		return 0
	}
	return n
}

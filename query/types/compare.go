package types

import (
	"cmp"
	"encoding/binary"
	"math"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Compare compares two values of one representation, neither NULL. Numbers of different representations compare by
// value.
func Compare(a, b Datum) (int, error) { return CompareStepping(a, b, nil) }

// CompareStepping is Compare for values that may be long. It calls step with the number of bytes read since the last
// call and returns its error.
func CompareStepping(a, b Datum, step Step) (int, error) {
	if a.K != b.K {
		return compareMixed(a, b)
	}
	switch a.K {
	case KBool, KInt, KTime, KDate, KClock, KZonedClock:
		return cmp.Compare(a.I, b.I), nil
	case KFloat:
		return compareFloat(a.Float(), b.Float()), nil
	case KNumeric:
		return a.Decimal().Cmp(b.Decimal()), nil
	case KText, KBytes:
		return strings.Compare(a.S, b.S), nil
	case KJSON:
		return sortJSON(a.S, b.S, step)
	case KInterval:
		return a.Span().Cmp(b.Span()), nil
	case KArray:
		c, err := compareItems(a.Array().Items, b.Array().Items, step)
		if c == 0 && err == nil && len(a.Array().Items) > 0 {
			c = cmp.Compare(a.Array().Lower, b.Array().Lower)
		}
		return c, err
	case KRecord:
		return compareRecords(a.Array(), b.Array(), step)
	}
	return 0, nil
}

// compareFloat sorts NaN last and equal to itself.
func compareFloat(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return cmp.Compare(a, b)
}

func compareItems(a, b []Datum, step Step) (int, error) {
	for i := range min(len(a), len(b)) {
		if c, err := compareItem(a[i], b[i], step); err != nil || c != 0 {
			return c, err
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// compareItem puts NULL last and equal to itself.
func compareItem(a, b Datum, step Step) (int, error) {
	if err := step.took(itemBytes); err != nil {
		return 0, err
	}
	switch x, y := a.IsNull(), b.IsNull(); {
	case x && y:
		return 0, nil
	case x:
		return 1, nil
	case y:
		return -1, nil
	}
	return CompareStepping(a, b, step)
}

// compareRecords compares field by field. Fields of different types do not compare, nor does the end of one record with
// a field of the other, but only where the fields before them are equal (record_cmp in PostgreSQL's rowtypes.c).
func compareRecords(a, b *Array, step Step) (int, error) {
	for i := range min(len(a.Items), len(b.Items)) {
		if x, y := a.Types[i], b.Types[i]; x != y {
			return 0, sqlstate.New(sqlstate.DatatypeMismatch,
				"cannot compare dissimilar column types %s and %s at record column %d", NameOf(x), NameOf(y), i+1)
		}
		if c, err := compareItem(a.Items[i], b.Items[i], step); err != nil || c != 0 {
			return c, err
		}
	}
	if len(a.Items) != len(b.Items) {
		return 0, sqlstate.New(sqlstate.DatatypeMismatch,
			"cannot compare record types with different numbers of columns")
	}
	return 0, nil
}

func compareMixed(a, b Datum) (int, error) {
	switch {
	case a.K == KInt && b.K == KNumeric:
		return DecimalFromInt(a.I).Cmp(b.Decimal()), nil
	case a.K == KNumeric && b.K == KInt:
		return a.Decimal().Cmp(DecimalFromInt(b.I)), nil
	}
	if x, ok := asFloat(a); ok {
		if y, ok := asFloat(b); ok {
			return compareFloat(x, y), nil
		}
	}
	return 0, sqlstate.New(sqlstate.InternalError, "values of different kinds compared")
}

func asFloat(d Datum) (float64, bool) {
	switch d.K {
	case KInt:
		return float64(d.I), true
	case KFloat:
		return d.Float(), true
	case KNumeric:
		return d.Decimal().Float64(), true
	}
	return 0, false
}

// Step is called during long operations with the number of bytes read since the last call. An error ends the operation.
// Step may be nil.
type Step func(n int) error

func (s Step) took(n int) error {
	if s == nil {
		return nil
	}
	return s(n)
}

// itemBytes is the number of bytes that a short item counts as.
const itemBytes = 16

// AppendHash appends bytes that are equal for two values of one type exactly if Compare finds the values equal. NULL
// equals NULL.
func AppendHash(dst []byte, d Datum, step Step) ([]byte, error) {
	dst = append(dst, byte(d.K))
	switch d.K {
	case KBool, KInt, KTime, KDate, KClock, KZonedClock:
		return binary.BigEndian.AppendUint64(dst, uint64(d.I)), nil
	case KFloat:
		f := d.Float()
		if f == 0 {
			f = 0 // turn -0 into 0
		}
		if math.IsNaN(f) {
			f = math.NaN()
		}
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(f)), nil
	case KNumeric:
		dst = d.Decimal().canonical(dst)
		return append(dst, 0), nil
	case KText, KBytes:
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(d.S)))
		return append(dst, d.S...), nil
	case KJSON:
		return appendJSONHash(dst, d.S, 0, step)
	case KInterval:
		days, micros := d.Span().Total()
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(dst, uint64(days)), uint64(micros)), nil
	case KArray, KRecord:
		items := d.Array().Items
		dst = binary.BigEndian.AppendUint64(dst, uint64(len(items)))
		if d.K == KArray && len(items) > 0 {
			dst = binary.BigEndian.AppendUint32(dst, uint32(d.Array().Lower))
		}
		var err error
		for _, it := range items {
			if err = step.took(itemBytes); err != nil {
				return dst, err
			}
			if dst, err = AppendHash(dst, it, step); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

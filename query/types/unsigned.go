package types

import (
	"regexp"
	"strconv"
)

// NewUnsigned returns a value of xid8 or pg_lsn, which have no sign. It is a KInt with the highest bit inverted, so
// that it compares like other integers.
func NewUnsigned(v uint64) Datum { return NewInt(int64(v ^ 1<<63)) }

// Unsigned returns the number of a value that NewUnsigned has made.
func (d Datum) Unsigned() uint64 { return uint64(d.I) ^ 1<<63 }

// UnsignedDecimal returns v as a Decimal.
func UnsignedDecimal(v uint64) *Decimal {
	d := &Decimal{}
	d.coef.SetUint64(v)
	return d
}

var (
	lsn = regexp.MustCompile(`^([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})$`)
	// xid8 is what C's strtoull reads of a text.
	xid8 = regexp.MustCompile(`^\s*([-+]?)(0[xX][0-9A-Fa-f]+|[0-9]+)`)
)

// parseUnsigned reads an xid8 as PostgreSQL 15 does: the number at the beginning of the text, 0 if there is none.
func parseUnsigned(text string, typ OID) (Datum, error) {
	if typ == PgLSN {
		m := lsn.FindStringSubmatch(text)
		if m == nil {
			return Null, badText(typ, text)
		}
		high, _ := strconv.ParseUint(m[1], 16, 64) // checked above
		low, _ := strconv.ParseUint(m[2], 16, 64)
		return NewUnsigned(high<<32 | low), nil
	}
	m := xid8.FindStringSubmatch(text)
	if m == nil {
		return NewUnsigned(0), nil
	}
	v, _ := strconv.ParseUint(m[2], 0, 64) // the largest number if it is out of range
	if m[1] == "-" {
		v = -v
	}
	return NewUnsigned(v), nil
}

package types

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// NewUnsigned returns a value of xid8 or pg_lsn, which have no sign. It is a KInt with the highest bit inverted, so
// that it compares like other integers.
func NewUnsigned(v uint64) Datum { return NewInt(int64(v ^ 1<<63)) }

// Unsigned returns the number of a value that NewUnsigned has made.
func (d Datum) Unsigned() uint64 { return uint64(d.I) ^ 1<<63 }

// LSN rounds to a position of pg_lsn.
func (d *Decimal) LSN() (uint64, error) {
	if d.special != finite {
		return 0, sqlstate.New(sqlstate.FeatureNotSupported, "cannot convert infinity to pg_lsn")
	}
	r := d.Round(0)
	if !r.coef.IsUint64() {
		return 0, sqlstate.New(sqlstate.InvalidParameterValue, "pg_lsn out of range")
	}
	return r.coef.Uint64(), nil
}

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

// NewTid returns the tid of an item of a block.
func NewTid(block uint32, item uint16) Datum { return NewInt(int64(block)<<16 | int64(item)) }

// tidOf returns the block and the item of a tid.
func (d Datum) tidOf() (block uint32, item uint16) { return uint32(d.I >> 16), uint16(d.I) }

// tid is what PostgreSQL reads as a tid: two numbers as C's strtoul reads them.
var tid = regexp.MustCompile(`^[^(),]*[(,]\s*([-+]?[0-9]+),\s*([-+]?[0-9]+)\)`)

func parseTid(text string) (Datum, error) {
	m := tid.FindStringSubmatch(text)
	if m == nil {
		return Null, badText(Tid, text)
	}
	block, err := strconv.ParseInt(m[1], 10, 64)
	item, wrong := strconv.ParseUint(strings.TrimPrefix(m[2], "+"), 10, 16)
	if err != nil || block < math.MinInt32 || block > math.MaxUint32 || wrong != nil {
		return Null, badText(Tid, text)
	}
	return NewTid(uint32(block), uint16(item)), nil
}

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

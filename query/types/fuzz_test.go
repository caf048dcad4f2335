package types_test

import (
	"testing"

	"github.com/divandb/divan/query/types"
)

// oids lists the types whose values clients send.
var oids = []types.OID{
	types.Bool, types.Bytea, types.Int2, types.Int4, types.Int8, types.Float4, types.Float8, types.Numeric, types.Text,
	types.Date, types.Time,
	types.Timestamp, types.TimestampTZ, types.Interval, types.UUID, types.JSON, types.JSONB, types.TextArray,
	types.Int4Array, types.JSONBArray,
	types.NumericArray, types.DateArray,
}

// sizes fails if a form of a value is longer than its computed size.
func sizes(t *testing.T, d types.Datum, oid types.OID) {
	t.Helper()
	check := func(form string, got []byte, bound int64) {
		if int64(len(got)) > bound {
			t.Errorf("%d: as %s %q has %d bytes, and the bound is %d", oid, form, got, len(got), bound)
		}
	}
	check("text", types.AppendText(nil, d, oid, nil), types.TextSize(d))
	if b, err := types.AppendBinary(nil, d, oid, nil); err == nil {
		check("binary", b, types.TextSize(d))
	}
	if b, err := types.ToJSON(nil, d, oid, types.JSON, nil); err == nil {
		check("JSON", b, types.JSONSize(d))
	}
	if b, err := types.AppendHash(nil, d, nil); err == nil {
		check("hash", b, types.HashSize(d))
	}
}

// FuzzText checks that a value read from text is written as a text that reads as an equal value.
func FuzzText(f *testing.F) {
	for i, s := range []string{
		"t", `\xdeadbeef`, "-32768", "1e400", "NaN", "1.50e-3", "x", "2024-02-30", "24:00:00", "infinity",
		"1 year -2 mons", `{"a":[1,2]}`, "{a,\"b\",NULL}",
		"{{1,2},{3,4}}", "[2:3]={1,2}", "2000-01-01 00:00:00+05:30 BC", "P1Y2M3DT4H5M6S",
	} {
		f.Add(s, byte(i))
	}
	f.Add("100000", byte('\u00e9')) // seconds of an interval that are more than a day
	f.Fuzz(func(t *testing.T, text string, kind byte) {
		oid := oids[int(kind)%len(oids)]
		d, err := types.ParseText(text, oid, nil)
		if err != nil || d.IsNull() {
			return
		}
		sizes(t, d, oid)
		out := types.TextOf(d, oid, nil)
		again, err := types.ParseText(out, oid, nil)
		if err != nil {
			t.Fatalf("%d: %q became %q, which is refused: %v", oid, text, out, err)
		}
		if twice := types.TextOf(again, oid, nil); twice != out {
			t.Fatalf("%d: %q became %q and then %q", oid, text, out, twice)
		}
	})
}

// FuzzBinary checks that a value read from its binary form is written in the same form, or in one that reads as an
// equal value.
func FuzzBinary(f *testing.F) {
	for i := range oids {
		f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 'x'}, byte(i))
		f.Add([]byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, byte(i))
		f.Add([]byte{1, '{', '}'}, byte(i))
	}
	f.Add([]byte("00001100\xb2000\xb2001"), byte('e')) // the longest text of an interval except for one digit
	f.Fuzz(func(t *testing.T, b []byte, kind byte) {
		oid := oids[int(kind)%len(oids)]
		d, err := types.ParseBinary(b, oid, nil)
		if err != nil || d.IsNull() {
			return
		}
		sizes(t, d, oid)
		out, err := types.AppendBinary(nil, d, oid, nil)
		if err != nil {
			t.Fatalf("%d: % x is read and not written: %v", oid, b, err)
		}
		again, err := types.ParseBinary(out, oid, nil)
		if err != nil {
			t.Fatalf("%d: % x became % x, which is refused: %v", oid, b, out, err)
		}
		if x, y := types.TextOf(d, oid, nil), types.TextOf(again, oid, nil); x != y {
			t.Fatalf("%d: % x is %q and then %q", oid, b, x, y)
		}
	})
}

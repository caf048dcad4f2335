package types_test

import (
	"testing"
	"time"

	"github.com/divandb/divan/query/types"
)

// TestDatum_ZonedClock checks the order of timetz values: by the moment first, then by seconds west of UTC.
func TestDatum_ZonedClock(t *testing.T) {
	ordered := []string{"00:00:00+15:59:59", "10:00:00+02", "08:00:00+00", "06:30:00-01:30", "10:00:00.000001+00",
		"24:00:00-15:59:59"}
	var before types.Datum
	for i, text := range ordered {
		d, err := types.ParseText(text, types.TimeTZ, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := types.TextOf(d, types.TimeTZ, nil); got != text {
			t.Errorf("%s is written %s", text, got)
		}
		micros, offset := d.ZonedClock()
		if again := types.NewZonedClock(micros, offset); again != d {
			t.Errorf("%s: %+v, again %+v", text, d, again)
		}
		if i > 0 {
			if c, err := types.Compare(before, d); err != nil || c >= 0 {
				t.Errorf("%s and %s: %d, %v", ordered[i-1], text, c, err)
			}
		}
		before = d
	}
}

// TestBinary_Moments checks that times are the same after a round trip through the binary form.
func TestBinary_Moments(t *testing.T) {
	env := &types.Env{Location: time.FixedZone("", 3600)}
	for text, typ := range map[string]types.OID{
		"4714-11-24 BC": types.Date, "5874897-12-31": types.Date, "infinity": types.Date,
		"294276-12-31 23:59:59.999999": types.Timestamp, "-infinity": types.TimestampTZ,
		"1999-12-31 23:00:00+01": types.TimestampTZ, "24:00:00": types.Time, "10:00:00.5-03:30": types.TimeTZ,
	} {
		d, err := types.ParseText(text, typ, env)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		b, err := types.AppendBinary(nil, d, typ, env)
		if err != nil || len(b) != int(types.Lookup(typ).Len) {
			t.Fatalf("%s: %x, %v", text, b, err)
		}
		back, err := types.ParseBinary(b, typ, env)
		if err != nil || back != d {
			t.Errorf("%s: %+v came back as %+v, %v", text, d, back, err)
		}
		if got := types.TextOf(back, typ, env); got != text {
			t.Errorf("%s came back as %s", text, got)
		}
		if _, err := types.ParseBinary(b[1:], typ, env); err == nil {
			t.Errorf("%s: a truncated value is accepted", text)
		}
	}
}

// TestCast_Padded checks that the blanks of a char(n) are displayed and otherwise ignored.
func TestCast_Padded(t *testing.T) {
	short, err := types.Cast(types.NewText("é"), types.Text, types.BPChar, 3+4, nil)
	if err != nil {
		t.Fatal(err)
	}
	long, err := types.Cast(short, types.BPChar, types.BPChar, 5+4, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := types.TextOf(long, types.BPChar, nil); got != "é    " {
		t.Errorf("char(5) is %q", got)
	}
	if c, err := types.Compare(short, long); err != nil || c != 0 {
		t.Errorf("they compare as %d, %v", c, err)
	}
	a, _ := types.AppendHash(nil, short, nil)
	b, _ := types.AppendHash(nil, long, nil)
	if string(a) != string(b) {
		t.Error("equal values have different hashes")
	}
	text, err := types.Cast(long, types.BPChar, types.Text, -1, nil)
	if err != nil || types.TextOf(text, types.Text, nil) != "é" {
		t.Errorf("as a text it is %+v, %v", text, err)
	}
	if types.TextSize(long) < int64(len("é    ")) {
		t.Error("its size does not include the blanks")
	}
}

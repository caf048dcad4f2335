package types_test

import (
	"reflect"
	"testing"

	"github.com/divandb/divan/query/types"
)

func TestStored(t *testing.T) {
	number := func(s string) types.Datum {
		d, err := types.ParseDecimal(s)
		if err != nil {
			t.Fatal(err)
		}
		return types.NewNumeric(d)
	}
	list := []types.Datum{
		types.Null, types.NewBool(true), types.NewInt(-5), types.NewFloat(-0.5), types.NewText("a"), types.NewPadded("a  "),
		types.NewBytes([]byte{0, 1}), types.NewJSONText(`{"a": 1}`), types.NewTime(-1), types.NewDate(3), types.NewClock(7),
		types.NewInterval(types.Span{Months: -1, Days: 2, Micros: 3}), number("0"), number("-12.3400"), number("NaN"),
		number("Infinity"), number("-Infinity"), number("12345678901234567890123456789"),
		types.NewArray(types.Text, []types.Datum{types.NewText("x"), types.Null}), types.NewVector(types.Int4, nil),
		types.NewRecord([]types.OID{types.Int4}, []string{"n"}, []types.Datum{types.NewInt(1)}),
		types.NewRecord(nil, nil, []types.Datum{types.NewArray(types.Int8, []types.Datum{types.NewInt(9)})}),
	}
	var raw []byte
	for _, d := range list {
		raw = types.AppendStored(raw, d)
	}
	rest := string(raw)
	for _, want := range list {
		var got types.Datum
		var err error
		if got, rest, err = types.ReadStored(rest); err != nil {
			t.Fatal(err)
		}
		if string(types.AppendStored(nil, got)) != string(types.AppendStored(nil, want)) {
			t.Errorf("%v became %v", want, got)
		}
		if want.K == types.KNumeric && got.Decimal().String() != want.Decimal().String() {
			t.Errorf("%s became %s", want.Decimal(), got.Decimal())
		}
		if want.K == types.KRecord && !reflect.DeepEqual(got.Array().Names, want.Array().Names) {
			t.Errorf("names became %q", got.Array().Names)
		}
	}
	for n := range len(raw) { // no cut value panics
		for s := string(raw[:n]); s != ""; {
			var err error
			if _, s, err = types.ReadStored(s); err != nil {
				break
			}
		}
	}
}

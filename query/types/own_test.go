package types

import (
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

func TestOwn(t *testing.T) {
	source := strings.Repeat("abc", 100)
	part := func(from int) Datum { return NewText(source[from : from+3]) }
	row := []Datum{NewInt(7), part(0), Null, NewPadded("a  "), NewJSONText(source[9:12]),
		NewArray(Text, []Datum{part(30), Null, part(60)}), NewRecord([]OID{Text}, []string{"f"}, []Datum{part(90)})}
	own := Own(row)
	for i := range row {
		same := own[i].K == row[i].K && own[i].I == row[i].I && own[i].S == row[i].S
		if row[i].K == KArray || row[i].K == KRecord {
			same = same && reflect.DeepEqual(own[i].Array().Names, row[i].Array().Names) &&
				len(own[i].Array().Items) == len(row[i].Array().Items) &&
				own[i].Array().Items[0].S == row[i].Array().Items[0].S
		}
		if !same {
			t.Errorf("%v, want %v", own[i], row[i])
		}
	}
	from := uintptr(unsafe.Pointer(unsafe.StringData(source)))
	var outside func(d Datum)
	outside = func(d Datum) {
		if at := uintptr(unsafe.Pointer(unsafe.StringData(d.S))); d.S != "" && at >= from && at < from+300 {
			t.Errorf("%v is still a part of the source", d)
		}
		if d.K == KArray || d.K == KRecord {
			for _, item := range d.Array().Items {
				outside(item)
			}
		}
	}
	for i, d := range own {
		outside(d)
		outside(row[i].Own())
	}
}

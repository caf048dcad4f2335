package tuple_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/tuple"
)

func bigInt(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 0)
	if !ok {
		panic(s)
	}
	return n
}

// TestTuple_Pack checks the published examples of apple/foundationdb's design/tuple.md, and extreme values of each
// type.
func TestTuple_Pack(t *testing.T) {
	tests := map[string]struct {
		in   tuple.Tuple
		want string
		back tuple.Tuple // if different from in
	}{
		"spec bytes":  {tuple.Tuple{[]byte("foo\x00bar")}, "\x01foo\x00\xffbar\x00", nil},
		"spec string": {tuple.Tuple{"F\u00d4O\u0000bar"}, "\x02F\xc3\x94O\x00\xffbar\x00", nil},
		"spec nested": {tuple.Tuple{tuple.Tuple{[]byte("foo\x00bar"), nil, tuple.Tuple{}}},
			"\x05\x01foo\x00\xffbar\x00\x00\xff\x05\x00\x00", nil},
		"spec integer":  {tuple.Tuple{-5551212}, "\x11\xabK\x93", tuple.Tuple{int64(-5551212)}},
		"spec minus 1":  {tuple.Tuple{-1}, "\x13\xfe", tuple.Tuple{int64(-1)}},
		"spec float":    {tuple.Tuple{float32(-42)}, "\x20\x3d\xd7\xff\xff", nil},
		"spec no items": {tuple.Tuple{tuple.Tuple{}}, "\x05\x00", nil},
		"spec one null": {tuple.Tuple{tuple.Tuple{nil}}, "\x05\x00\xff\x00", nil},

		"empty":        {tuple.Tuple{}, "", nil},
		"nil":          {tuple.Tuple{nil, nil}, "\x00\x00", nil},
		"empty bytes":  {tuple.Tuple{[]byte{}}, "\x01\x00", nil},
		"nil bytes":    {tuple.Tuple{[]byte(nil)}, "\x01\x00", tuple.Tuple{[]byte{}}},
		"zero bytes":   {tuple.Tuple{[]byte{0, 0}, ""}, "\x01\x00\xff\x00\xff\x00\x02\x00", nil},
		"zero then ff": {tuple.Tuple{[]byte{0, 0xff}}, "\x01\x00\xff\xff\x00", nil},
		"zero":         {tuple.Tuple{0}, "\x14", tuple.Tuple{int64(0)}},
		"255":          {tuple.Tuple{uint8(255)}, "\x15\xff", tuple.Tuple{int64(255)}},
		"256":          {tuple.Tuple{int16(256)}, "\x16\x01\x00", tuple.Tuple{int64(256)}},
		"-255":         {tuple.Tuple{int32(-255)}, "\x13\x00", tuple.Tuple{int64(-255)}},
		"-256":         {tuple.Tuple{int64(-256)}, "\x12\xfe\xff", nil},
		"max int64":    {tuple.Tuple{int64(math.MaxInt64)}, "\x1c\x7f\xff\xff\xff\xff\xff\xff\xff", nil},
		"min int64":    {tuple.Tuple{int64(math.MinInt64)}, "\x0c\x7f\xff\xff\xff\xff\xff\xff\xff", nil},
		"2^63":         {tuple.Tuple{uint64(1 << 63)}, "\x1c\x80\x00\x00\x00\x00\x00\x00\x00", nil},
		"max uint64":   {tuple.Tuple{uint64(math.MaxUint64)}, "\x1c\xff\xff\xff\xff\xff\xff\xff\xff", nil},
		"-2^63-1":      {tuple.Tuple{bigInt("-9223372036854775809")}, "\x0c\x7f\xff\xff\xff\xff\xff\xff\xfe", nil},
		"-2^64+1":      {tuple.Tuple{bigInt("-18446744073709551615")}, "\x0c\x00\x00\x00\x00\x00\x00\x00\x00", nil},
		"2^64": {tuple.Tuple{bigInt("0x10000000000000000")}, "\x1d\x09\x01\x00\x00\x00\x00\x00\x00\x00\x00",
			nil},
		"-2^64": {tuple.Tuple{bigInt("-0x10000000000000000")}, "\x0b\xf6\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
			nil},
		"small big":   {tuple.Tuple{big.NewInt(7)}, "\x15\x07", tuple.Tuple{int64(7)}},
		"double":      {tuple.Tuple{1.5}, "\x21\xbf\xf8\x00\x00\x00\x00\x00\x00", nil},
		"double -1.5": {tuple.Tuple{-1.5}, "\x21\x40\x07\xff\xff\xff\xff\xff\xff", nil},
		"booleans":    {tuple.Tuple{false, true}, "\x26\x27", nil},
		"uuid":        {tuple.Tuple{tuple.UUID{1, 15: 0xff}}, "\x30\x01" + strings.Repeat("\x00", 14) + "\xff", nil},
		"16 bytes": {tuple.Tuple{[16]byte{1}}, "\x30\x01" + strings.Repeat("\x00", 15),
			tuple.Tuple{tuple.UUID{1}}},
		"versionstamp": {tuple.Tuple{tuple.Versionstamp{Transaction: [10]byte{1, 9: 2}, User: 0x0304}},
			"\x33\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\x03\x04", nil},
		"incomplete": {tuple.Tuple{tuple.IncompleteVersionstamp(1)},
			"\x33" + strings.Repeat("\xff", 10) + "\x00\x01", nil},
		"not UTF-8": {tuple.Tuple{"\xff\x00\xfe"}, "\x02\xff\x00\xff\xfe\x00", nil},
		"nested middle": {tuple.Tuple{1, tuple.Tuple{nil, "a", tuple.Tuple{nil}}, nil},
			"\x15\x01\x05\x00\xff\x02a\x00\x05\x00\xff\x00\x00\x00",
			tuple.Tuple{int64(1), tuple.Tuple{nil, "a", tuple.Tuple{nil}}, nil}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.in.Pack()
			if string(got) != tt.want {
				t.Fatalf("Pack = %q, want %q", got, tt.want)
			}
			if with := tt.in.Append([]byte("prefix")); string(with) != "prefix"+tt.want {
				t.Errorf("Append = %q", with)
			}
			want := tt.back
			if want == nil {
				want = tt.in
			}
			back, err := tuple.Unpack(got)
			if err != nil || !reflect.DeepEqual(back, want) {
				t.Errorf("Unpack = %#v, %v, want %#v", back, err, want)
			}
		})
	}
}

func TestTuple_Pack_panics(t *testing.T) {
	for name, in := range map[string]any{
		"a type without encoding": struct{}{},
		"complex":                 complex(1, 1),
		"an integer too long":     new(big.Int).Lsh(big.NewInt(1), 255*8),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			tuple.Tuple{in}.Pack()
		})
	}
	longest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255*8), big.NewInt(1))
	for _, n := range []*big.Int{longest, new(big.Int).Neg(longest)} {
		back, err := tuple.Unpack(tuple.Tuple{n}.Pack())
		if err != nil || back[0].(*big.Int).Cmp(n) != 0 {
			t.Errorf("the longest integer was decoded as %v, %v", back, err)
		}
	}
}

func TestUnpack_refuses(t *testing.T) {
	tests := map[string]struct {
		in   string
		want error
	}{
		"bytes without end":           {"\x01foo", tuple.ErrTruncated},
		"bytes ending in an escape":   {"\x01foo\x00\xff", tuple.ErrTruncated},
		"string without end":          {"\x02", tuple.ErrTruncated},
		"nested without end":          {"\x05\x15\x01", tuple.ErrTruncated},
		"nested ending in an escape":  {"\x05\x00\xff", tuple.ErrTruncated},
		"integer":                     {"\x17\x01\x02", tuple.ErrTruncated},
		"negative integer":            {"\x0c\x01\x02", tuple.ErrTruncated},
		"big integer without length":  {"\x1d", tuple.ErrTruncated},
		"big integer":                 {"\x1d\x09\x01", tuple.ErrTruncated},
		"negative big integer":        {"\x0b\xf6\x01", tuple.ErrTruncated},
		"float":                       {"\x20\x01\x02\x03", tuple.ErrTruncated},
		"double":                      {"\x21\x01\x02\x03\x04\x05\x06\x07", tuple.ErrTruncated},
		"uuid":                        {"\x30\x01", tuple.ErrTruncated},
		"versionstamp":                {"\x33\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b", tuple.ErrTruncated},
		"old nested":                  {"\x03\x04", tuple.ErrType},
		"long double":                 {"\x22", tuple.ErrType},
		"decimal":                     {"\x23\x00", tuple.ErrType},
		"old true":                    {"\x25", tuple.ErrType},
		"64-bit identifier":           {"\x31\x01\x02\x03\x04\x05\x06\x07\x08", tuple.ErrType},
		"80-bit versionstamp":         {"\x32\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", tuple.ErrType},
		"user code":                   {"\x40", tuple.ErrType},
		"escape character":            {"\xff", tuple.ErrType},
		"a wrong type inside another": {"\x05\xff\x00", tuple.ErrType},
		"nested beyond reason":        {strings.Repeat("\x05", 1_000_000), tuple.ErrDepth},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := tuple.Unpack([]byte(tt.in)); !errors.Is(err, tt.want) {
				t.Errorf("Unpack = %v, %v, want %v", got, err, tt.want)
			}
			if rest, err := tuple.Skip([]byte(tt.in)); !errors.Is(err, tt.want) {
				t.Errorf("Skip = %q, %v, want %v", rest, err, tt.want)
			}
		})
	}
}

func TestTuple_PackWithVersionstamp(t *testing.T) {
	stamp := tuple.IncompleteVersionstamp(7)
	tests := map[string]struct {
		in     tuple.Tuple
		offset int // -1 means an error
	}{
		"first":                {tuple.Tuple{stamp}, 1},
		"after a string":       {tuple.Tuple{"ab", stamp, 1}, 5},
		"nested":               {tuple.Tuple{1, tuple.Tuple{nil, tuple.Tuple{stamp, "x"}}, nil}, 7},
		"after ten 0xff":       {tuple.Tuple{bytes.Repeat([]byte{0xff}, 20), stamp}, 23},
		"after a complete one": {tuple.Tuple{tuple.Versionstamp{User: 1}, stamp}, 14},
		"none":                 {tuple.Tuple{1, tuple.Versionstamp{}}, -1},
		"two":                  {tuple.Tuple{stamp, tuple.Tuple{stamp}}, -1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			prefix := []byte("pre")
			got, offset, err := tt.in.PackWithVersionstamp(prefix)
			if tt.offset < 0 {
				if err == nil {
					t.Fatalf("packed %q", got)
				}
				return
			}
			if err != nil || offset != len(prefix)+tt.offset {
				t.Fatalf("offset = %d, %v, want %d", offset, err, len(prefix)+tt.offset)
			}
			if want := tt.in.Append(prefix); !bytes.Equal(got, want) {
				t.Errorf("packed %q, want %q", got, want)
			}
			copy(got[offset:], "0123456789")
			back, err := tuple.Unpack(got[len(prefix):])
			if err != nil || back.Pack() == nil {
				t.Fatal(err)
			}
			if !bytes.Contains(got, []byte("\x330123456789\x00\x07")) {
				t.Errorf("the stamp is at the wrong place: %q", got)
			}
		})
	}
}

func TestRange(t *testing.T) {
	begin, end := tuple.Tuple{"a"}.Range([]byte("p"))
	if string(begin) != "p\x02a\x00\x00" || string(end) != "p\x02a\x00\xff" {
		t.Errorf("Range = %q, %q", begin, end)
	}
	begin = append(begin, "overwrites"...)
	if string(end) != "p\x02a\x00\xff" {
		t.Errorf("appending to begin (%q) changed end to %q", begin, end)
	}
	for _, inside := range []tuple.Tuple{{"a", nil}, {"a", tuple.IncompleteVersionstamp(0xffff)}, {"a", "", ""}} {
		if k := inside.Append([]byte("p")); bytes.Compare(k, begin[:5]) < 0 || bytes.Compare(k, end) >= 0 {
			t.Errorf("%v is outside its range", inside)
		}
	}
	for _, outside := range []tuple.Tuple{{"a"}, {"a\x00"}, {"b"}, {""}} {
		if k := outside.Append([]byte("p")); bytes.Compare(k, begin[:5]) >= 0 && bytes.Compare(k, end) < 0 {
			t.Errorf("%v is inside the range of a", outside)
		}
	}
}

func TestStrinc(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\xfe\xff\xff": "a\xff", "\x00": "\x01"} {
		if got, err := tuple.Strinc([]byte(in)); err != nil || string(got) != want {
			t.Errorf("Strinc(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "\xff", "\xff\xff"} {
		if got, err := tuple.Strinc([]byte(in)); !errors.Is(err, tuple.ErrNoSuccessor) {
			t.Errorf("Strinc(%q) = %q, %v", in, got, err)
		}
	}
}

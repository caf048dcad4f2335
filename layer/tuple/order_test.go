package tuple_test

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/divandb/divan/layer/tuple"
	"pgregory.net/rapid"
)

// element draws any element, as Unpack would return it. Extreme values of every type are likely.
func element(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 11
		if depth == 0 {
			kinds = 10
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return []byte(shortText(t))
		case 2:
			return shortText(t)
		case 3:
			return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-300, 300)).Draw(t, "int")
		case 4:
			return rapid.Uint64Min(1<<63).Draw(t, "uint")
		case 5:
			return outsideWords(t)
		case 6:
			return math.Float32frombits(rapid.Uint32().Draw(t, "float32"))
		case 7:
			return math.Float64frombits(rapid.Uint64().Draw(t, "float64"))
		case 8:
			return rapid.Bool().Draw(t, "bool")
		case 9:
			if rapid.Bool().Draw(t, "uuid or stamp") {
				return tuple.UUID{rapid.Byte().Draw(t, "first"), 15: rapid.Byte().Draw(t, "last")}
			}
			return tuple.Versionstamp{Transaction: [10]byte{7: rapid.Byte().Draw(t, "version")},
				User: rapid.Uint16().Draw(t, "user")}
		}
		return drawTuple(t, depth-1)
	})
}

// shortText consists of few different bytes, so that prefixes and escapes meet.
func shortText(t *rapid.T) string {
	return string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 4).Draw(t, "text"))
}

// outsideWords draws an integer that fits neither int64 nor uint64.
func outsideWords(t *rapid.T) *big.Int {
	n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(t, "magnitude"))
	if rapid.Bool().Draw(t, "negative") {
		return n.Sub(n.Neg(n), new(big.Int).Lsh(big.NewInt(1), 63)).Sub(n, big.NewInt(1))
	}
	return n.Add(n, new(big.Int).Lsh(big.NewInt(1), 64))
}

func drawTuple(t *rapid.T, depth int) tuple.Tuple {
	return append(tuple.Tuple{}, rapid.SliceOfN(element(depth), 0, 4).Draw(t, "tuple")...)
}

// compare compares tuples by their values, independent of their encoding.
func compare(a, b tuple.Tuple) int {
	for i := range min(len(a), len(b)) {
		if c := compareElements(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareElements(a, b any) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch a := a.(type) {
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case string:
		return strings.Compare(a, b.(string))
	case tuple.Tuple:
		return compare(a, b.(tuple.Tuple))
	case int64, uint64, *big.Int:
		return widen(a).Cmp(widen(b))
	case float32:
		return compareFloats(float64(a), float64(b.(float32)), uint64(math.Float32bits(a))<<32,
			uint64(math.Float32bits(b.(float32)))<<32)
	case float64:
		return compareFloats(a, b.(float64), math.Float64bits(a), math.Float64bits(b.(float64)))
	case tuple.UUID:
		bu := b.(tuple.UUID)
		return bytes.Compare(a[:], bu[:])
	case tuple.Versionstamp:
		bv := b.(tuple.Versionstamp)
		return cmp.Or(bytes.Compare(a.Transaction[:], bv.Transaction[:]), cmp.Compare(a.User, bv.User))
	}
	return 0
}

func rank(e any) int {
	switch e := e.(type) {
	case nil:
		return 0
	case []byte:
		return 1
	case string:
		return 2
	case tuple.Tuple:
		return 3
	case int64, uint64, *big.Int:
		return 4
	case float32:
		return 5
	case float64:
		return 6
	case bool:
		if e {
			return 8
		}
		return 7
	case tuple.UUID:
		return 9
	}
	return 10
}

func widen(e any) *big.Int {
	switch e := e.(type) {
	case int64:
		return big.NewInt(e)
	case uint64:
		return new(big.Int).SetUint64(e)
	}
	return e.(*big.Int)
}

// compareFloats compares by value if possible, otherwise by IEEE total order.
func compareFloats(a, b float64, abits, bbits uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	aneg, bneg := abits>>63 != 0, bbits>>63 != 0
	switch {
	case aneg && !bneg:
		return -1
	case !aneg && bneg:
		return 1
	case aneg:
		return cmp.Compare(bbits, abits)
	}
	return cmp.Compare(abits, bbits)
}

func TestTuple_order(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTuple(t, 3), drawTuple(t, 3)
		if rapid.Bool().Draw(t, "share a prefix") {
			b = append(append(tuple.Tuple{}, a...), b...)
		}
		if got, want := bytes.Compare(a.Pack(), b.Pack()), compare(a, b); got != want {
			t.Fatalf("comparing %#v and %#v gives %d, but their encodings %d", a, b, want, got)
		}
	})
}

func TestTuple_roundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTuple(t, 3)
		packed := in.Pack()
		out, err := tuple.Unpack(packed)
		if err != nil {
			t.Fatal(err)
		}
		if compare(in, out) != 0 || !sameTypes(in, out) {
			t.Fatalf("%#v was decoded as %#v", in, out)
		}
		for rest, i := packed, 0; len(rest) > 0; i++ {
			if rest, err = tuple.Skip(rest); err != nil || !bytes.Equal(rest, in[i+1:].Pack()) {
				t.Fatalf("after element %d: %q, %v", i, rest, err)
			}
		}
	})
}

func sameTypes(a, b tuple.Tuple) bool {
	for i := range a {
		if reflect.TypeOf(a[i]) != reflect.TypeOf(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// FuzzUnpack checks that any bytes are either rejected or decoded to a tuple that is the same after encoding and
// decoding it again, and that Skip agrees with Unpack.
func FuzzUnpack(f *testing.F) {
	f.Add(tuple.Tuple{nil, "a\x00", []byte{0, 255}, -1, bigInt("-0x10000000000000000"), float32(1), 2.0, true,
		tuple.UUID{}, tuple.IncompleteVersionstamp(1)}.Pack())
	f.Add(tuple.Tuple{tuple.Tuple{nil, tuple.Tuple{}}, bigInt("0x10000000000000000")}.Pack())
	f.Add([]byte("\x1d\x01\x05\x16\x00\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		decoded, err := tuple.Unpack(b)
		n := 0
		rest := b
		var skipErr error
		for len(rest) > 0 && skipErr == nil {
			if rest, skipErr = tuple.Skip(rest); skipErr == nil {
				n++
			}
		}
		if (err == nil) != (skipErr == nil) {
			t.Fatalf("Unpack returns %v, Skip returns %v", err, skipErr)
		}
		if err != nil {
			return
		}
		if n != len(decoded) {
			t.Fatalf("skipped %d elements of %d", n, len(decoded))
		}
		again, err := tuple.Unpack(decoded.Pack())
		if err != nil || compare(decoded, again) != 0 || !sameTypes(decoded, again) {
			t.Fatalf("%#v became %#v, %v", decoded, again, err)
		}
	})
}

package tuple_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/divandb/divan/layer/tuple"
)

// TestTyped writes a row with the Append functions, compares it with the same row as a Tuple, and reads it with the
// Take functions.
func TestTyped(t *testing.T) {
	stamp := tuple.Versionstamp{Transaction: [10]byte{5}, User: 6}
	id := tuple.UUID{7}
	boxed := tuple.Tuple{nil, []byte("b\x00"), "s\x00", -300, uint64(math.MaxUint64), big.NewInt(-1), float32(1), -2.0,
		true, id, stamp,
		tuple.Tuple{nil, "in", tuple.Tuple{nil}}, "end"}.Pack()
	b := tuple.AppendNil(nil)
	b = tuple.AppendBytes(b, []byte("b\x00"))
	b = tuple.AppendString(b, "s\x00")
	b = tuple.AppendInt(b, -300)
	b = tuple.AppendUint(b, math.MaxUint64)
	b = tuple.AppendBig(b, big.NewInt(-1))
	b = tuple.AppendFloat32(b, 1)
	b = tuple.AppendFloat64(b, -2)
	b = tuple.AppendBool(b, true)
	b = tuple.AppendUUID(b, id)
	b = tuple.AppendVersionstamp(b, stamp)
	b = tuple.BeginNested(b)
	b = tuple.AppendNestedNil(b)
	b = tuple.AppendString(b, "in")
	b = tuple.EndNested(tuple.AppendNestedNil(tuple.BeginNested(b)))
	b = tuple.EndNested(b)
	b = tuple.AppendString(b, "end")
	if !bytes.Equal(b, boxed) {
		t.Fatalf("appended %q\nwant     %q", b, boxed)
	}

	isNil, b := tuple.TakeNil(b)
	bs, b, err1 := tuple.TakeBytes(b)
	s, b, err2 := tuple.TakeString(b)
	n, b, err3 := tuple.TakeInt(b)
	u, b, err4 := tuple.TakeUint(b)
	bn, b, err5 := tuple.TakeBig(b)
	f32, b, err6 := tuple.TakeFloat32(b)
	f64, b, err7 := tuple.TakeFloat64(b)
	v, b, err8 := tuple.TakeBool(b)
	uuid, b, err9 := tuple.TakeUUID(b)
	vs, b, err10 := tuple.TakeVersionstamp(b)
	nested, b, err11 := tuple.TakeNested(b)
	end, b, err12 := tuple.TakeStringBytes(b)
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12); err != nil {
		t.Fatal(err)
	}
	if !isNil || string(bs) != "b\x00" || s != "s\x00" || n != -300 || u != math.MaxUint64 || bn.Int64() != -1 ||
		f32 != 1 || f64 != -2 ||
		!v || uuid != id || vs != stamp || string(end) != "end" || len(b) != 0 {
		t.Error("an element was decoded differently", isNil, bs, s, n, u, bn, f32, f64, v, uuid, vs, end, b)
	}
	isNil, nested = tuple.TakeNestedNil(nested)
	in, nested, err := tuple.TakeString(nested)
	inner, nested, err2 := tuple.TakeNested(nested)
	if !isNil || in != "in" || err != nil || err2 != nil || len(nested) != 0 || string(inner) != "\x00\xff" {
		t.Errorf("nested: %v %q %v %v %q %q", isNil, in, err, err2, nested, inner)
	}
}

func TestTyped_refuses(t *testing.T) {
	str := tuple.AppendString(nil, "x")
	num := tuple.AppendInt(nil, 1)
	big64 := tuple.AppendBig(nil, new(big.Int).Lsh(big.NewInt(1), 64))
	wrong := func(name string, err error, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	_, _, err := tuple.TakeInt(str)
	wrong("TakeInt of a string", err, tuple.ErrType)
	_, _, err = tuple.TakeInt(tuple.AppendUint(nil, 1<<63))
	wrong("TakeInt of 2^63", err, tuple.ErrRange)
	_, _, err = tuple.TakeInt(big64)
	wrong("TakeInt of 2^64", err, tuple.ErrRange)
	_, _, err = tuple.TakeUint(tuple.AppendInt(nil, -1))
	wrong("TakeUint of -1", err, tuple.ErrRange)
	_, _, err = tuple.TakeString(num)
	wrong("TakeString of a number", err, tuple.ErrType)
	_, _, err = tuple.TakeBytes(str)
	wrong("TakeBytes of a string", err, tuple.ErrType)
	_, _, err = tuple.TakeBool(num)
	wrong("TakeBool of a number", err, tuple.ErrType)
	_, _, err = tuple.TakeUUID(num)
	wrong("TakeUUID of a number", err, tuple.ErrType)
	_, _, err = tuple.TakeVersionstamp(nil)
	wrong("TakeVersionstamp of nothing", err, tuple.ErrTruncated)
	_, _, err = tuple.TakeNested(num)
	wrong("TakeNested of a number", err, tuple.ErrType)
}

// TestAppend_allocations checks that the typed functions do not box elements.
func TestAppend_allocations(t *testing.T) {
	buf := make([]byte, 0, 256)
	stamp := tuple.IncompleteVersionstamp(1)
	key := []byte("a document's id")
	if n := testing.AllocsPerRun(100, func() {
		b := tuple.AppendInt(buf[:0], 1<<40)
		b = tuple.AppendString(b, "changes")
		b = tuple.AppendBytes(b, key)
		b = tuple.AppendBool(b, true)
		b = tuple.AppendVersionstamp(b, stamp)
		_, b, _ = tuple.TakeInt(b)
		_, b, _ = tuple.TakeStringBytes(b)
		_, b, _ = tuple.TakeBytes(b)
		_, b, _ = tuple.TakeBool(b)
		_, _, _ = tuple.TakeVersionstamp(b)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	buf := make([]byte, 0, 256)
	stamp := tuple.IncompleteVersionstamp(1)
	for b.Loop() {
		k := tuple.AppendInt(buf[:0], 1<<40)
		k = tuple.AppendString(k, "9e107d9d372bb6826bd81d3542a419d6")
		tuple.AppendVersionstamp(k, stamp)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}

func BenchmarkTuple_Append(b *testing.B) {
	buf := make([]byte, 0, 256)
	stamp := tuple.IncompleteVersionstamp(1)
	for b.Loop() {
		tuple.Tuple{int64(1 << 40), "9e107d9d372bb6826bd81d3542a419d6", stamp}.Append(buf[:0])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "keys/s")
}

//go:build fdb

package fdb_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	client "github.com/apple/foundationdb/bindings/go/src/fdb"
	apple "github.com/apple/foundationdb/bindings/go/src/fdb/tuple"

	"github.com/divandb/divan/layer/tuple"
)

// TestTuple_SameAsApple compares layer/tuple with Apple's package byte for byte: each packs the same bytes as the
// other and unpacks the other's.
func TestTuple_SameAsApple(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range 100_000 {
		ours, theirs := randomTuple(r, 3)
		packed := ours.Pack()
		if want := theirs.Pack(); !bytes.Equal(packed, want) {
			t.Fatalf("tuple %d: %v is %x, Apple's %x", i, ours, packed, want)
		}
		unpacked, err := apple.Unpack(packed)
		if err != nil {
			t.Fatalf("%v: Apple's Unpack: %v", ours, err)
		}
		if again := unpacked.Pack(); !bytes.Equal(again, packed) {
			t.Fatalf("%v: Apple's Unpack read %x as %x", ours, packed, again)
		}
		mine, err := tuple.Unpack(packed)
		if err != nil {
			t.Fatalf("%v: Unpack of Apple's bytes: %v", ours, err)
		}
		if again := mine.Pack(); !bytes.Equal(again, packed) {
			t.Fatalf("%v: Unpack read %x as %x", ours, packed, again)
		}
	}
}

// TestTuple_StampSameAsApple checks that the key and the position of the versionstamp are the same.
func TestTuple_StampSameAsApple(t *testing.T) {
	client.MustAPIVersion(730) // Apple's encoding of stamps depends on it
	r := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 10_000 {
		ours, theirs := randomTuple(r, 2)
		user := uint16(r.Uint32())
		at := r.IntN(len(ours) + 1)
		ours = append(ours[:at:at], append(tuple.Tuple{tuple.IncompleteVersionstamp(user)}, ours[at:]...)...)
		theirs = append(theirs[:at:at], append(apple.Tuple{apple.IncompleteVersionstamp(user)}, theirs[at:]...)...)
		prefix := randomBytes(r)
		packed, offset, err := ours.PackWithVersionstamp(bytes.Clone(prefix))
		if err != nil {
			t.Fatal(err)
		}
		want, err := theirs.PackWithVersionstamp(prefix)
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.AppendUint32(packed, uint32(offset)); !bytes.Equal(got, want) {
			t.Fatalf("%v after %x is %x, Apple's %x", ours, prefix, got, want)
		}
	}
}

// randomTuple returns the same random tuple for both packages.
func randomTuple(r *rand.Rand, depth int) (tuple.Tuple, apple.Tuple) {
	n := r.IntN(6)
	ours, theirs := make(tuple.Tuple, n), make(apple.Tuple, n)
	for i := range n {
		ours[i], theirs[i] = randomElement(r, depth)
	}
	return ours, theirs
}

func randomElement(r *rand.Rand, depth int) (any, any) {
	same := func(e any) (any, any) { return e, e }
	switch r.IntN(13) {
	case 0:
		return same(nil)
	case 1:
		return same(randomBytes(r))
	case 2:
		return same(string(randomBytes(r)))
	case 3:
		return same(randomInt(r))
	case 4:
		return same(uint64(randomInt(r)))
	case 5:
		return same(int(randomInt(r)))
	case 6:
		n := new(big.Int).SetBytes(randomBytes(r))
		if r.IntN(2) == 0 {
			n.Neg(n)
		}
		return same(n)
	case 7:
		return same(math.Float32frombits(r.Uint32()))
	case 8:
		return same([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(),
			math.Float64frombits(r.Uint64()), r.NormFloat64()}[r.IntN(7)])
	case 9:
		return same(r.IntN(2) == 0)
	case 10:
		var id [16]byte
		copy(id[:], randomBytes(r))
		return tuple.UUID(id), apple.UUID(id)
	case 11:
		var stamp [10]byte
		copy(stamp[:], randomBytes(r))
		stamp[0] &= 0x7f // ten bytes of 0xff mean an incomplete versionstamp, which Pack refuses
		user := uint16(r.Uint32())
		return tuple.Versionstamp{Transaction: stamp, User: user},
			apple.Versionstamp{TransactionVersion: stamp, UserVersion: user}
	}
	if depth == 0 {
		return same("leaf")
	}
	ours, theirs := randomTuple(r, depth-1)
	return ours, theirs
}

// randomInt returns integers of every length in bytes, and neighbours of powers of two.
func randomInt(r *rand.Rand) int64 {
	n := int64(r.Uint64() >> r.IntN(64))
	if r.IntN(3) == 0 {
		n = int64(uint64(1)<<r.IntN(64)) + int64(r.IntN(3)) - 1
	}
	if r.IntN(2) == 0 {
		n = -n
	}
	return n
}

// randomBytes returns short strings with many zeros and 0xff.
func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(20))
	for i := range b {
		b[i] = [...]byte{0, 0xff, 'a', byte(r.Uint32())}[r.IntN(4)]
	}
	return b
}

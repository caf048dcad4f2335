package floats_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/divandb/divan/query/floats"
)

// TestAppend compares with what PostgreSQL 15 writes.
func TestAppend(t *testing.T) {
	for _, c := range []struct {
		f    float64
		size int
		want string
	}{
		{44000000000, 32, "4.4000002e+10"}, {9400000000, 32, "9.400001e+09"}, {-44000000000, 32, "-4.4000002e+10"},
		{1e23, 64, "9.999999999999999e+22"}, {7e22, 64, "7.0000000000000004e+22"},
		{-7e22, 64, "-7.0000000000000004e+22"}, {2.793320432587915e+16, 64, "2.7933204325879152e+16"},
		{0x1p-12, 32, "0.00024414062"}, {0x1p-12, 64, "0.000244140625"}, {0.3, 64, "0.3"}, {-0.0001, 64, "-0.0001"},
		{100000, 32, "100000"}, {1e6, 32, "1e+06"}, {123456789012345, 64, "123456789012345"}, {1e15, 64, "1e+15"},
		{1234.5, 64, "1234.5"}, {0.00001, 64, "1e-05"}, {120, 64, "120"}, {0, 64, "0"},
		{math.Copysign(0, -1), 64, "-0"}, {math.Inf(-1), 64, "-Infinity"}, {math.NaN(), 64, "NaN"},
		{5e-324, 64, "5e-324"}, {math.MaxFloat64, 64, "1.7976931348623157e+308"},
		{0x1p-44, 64, "5.684341886080802e-14"},
	} {
		if got := string(floats.Append(nil, c.f, c.size)); got != c.want {
			t.Errorf("%v of %d bits: got %s, want %s", c.f, c.size, got, c.want)
		}
	}
}

// TestAppend_reads reads random numbers back, from a buffer that has something already.
func TestAppend_reads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = math.Ldexp(float64(r.Uint64()>>12<<1), r.IntN(80)-40)
		}
		for _, size := range []int{32, 64} {
			if size == 32 {
				f = float64(float32(f))
			}
			if math.IsNaN(f) || math.IsInf(f, 0) {
				continue
			}
			text := string(floats.Append([]byte("x="), f, size))
			if got, err := strconv.ParseFloat(text[2:], size); err != nil || got != f {
				t.Fatalf("%v of %d bits: %s reads as %v, %v", f, size, text, got, err)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, f := range map[string]float64{"integer": 12345, "short": 1234.56, "long": math.Pi, "bound": 1e23} {
		b.Run(name, func(b *testing.B) {
			var room [32]byte
			for b.Loop() {
				floats.Append(room[:0], f, 64)
			}
		})
	}
}

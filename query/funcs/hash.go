package funcs

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// The hash functions of PostgreSQL's hash indexes. The manual does not describe them, but applications use them to turn
// names into numbers of advisory locks and to take samples: pg_advisory_lock(hashtext('job')).
func init() {
	add := func(name string, arg types.OID, h func(d types.Datum, seed uint64) uint64) {
		hashFamily.Function(name, types.Int4, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if err := env.Bytes(len(a[0].S)); err != nil {
				return types.Null, err
			}
			return types.NewInt(int64(int32(uint32(h(a[0], 0))))), nil
		}, arg)
		hashFamily.Function(name+"extended", types.Int8, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
			if err := env.Bytes(len(a[0].S)); err != nil {
				return types.Null, err
			}
			return types.NewInt(int64(h(a[0], uint64(a[1].I)))), nil
		}, arg, types.Int8)
	}
	text := func(d types.Datum, seed uint64) uint64 { return hashBytes(d.S, seed) }
	small := func(d types.Datum, seed uint64) uint64 { return hashInt(uint32(d.I), seed) }
	large := func(d types.Datum, seed uint64) uint64 { return hashLarge(d.I, seed) }
	float := func(d types.Datum, seed uint64) uint64 { return hashFloat(d.Float(), seed) }
	char := func(d types.Datum, seed uint64) uint64 { return hashChar(d.S, seed) }
	add("hashtext", types.Text, text)
	add("hashbpchar", types.BPChar, text)
	add("hashname", types.Name, text)
	add("hashchar", types.Char, char)
	add("hashint2", types.Int2, small)
	add("hashint4", types.Int4, small)
	add("hashint8", types.Int8, large)
	add("hashoid", types.Oid, small)
	add("hashfloat4", types.Float4, float)
	add("hashfloat8", types.Float8, float)
}

// jenkins is the state of Bob Jenkins' hash (hashfn.c in PostgreSQL's src/common).
type jenkins struct{ a, b, c uint32 }

func newJenkins(length int, seed uint64) jenkins {
	start := 0x9e3779b9 + uint32(length) + 3923095
	j := jenkins{start, start, start}
	if seed != 0 {
		j.a += uint32(seed >> 32)
		j.b += uint32(seed)
		j.mix()
	}
	return j
}

func (j *jenkins) mix() {
	step := func(a, b, c *uint32, n int) {
		*a -= *c
		*a ^= bits.RotateLeft32(*c, n)
		*c += *b
	}
	step(&j.a, &j.b, &j.c, 4)
	step(&j.b, &j.c, &j.a, 6)
	step(&j.c, &j.a, &j.b, 8)
	step(&j.a, &j.b, &j.c, 16)
	step(&j.b, &j.c, &j.a, 19)
	step(&j.c, &j.a, &j.b, 4)
}

// sum returns the hash. Its lower half is the hash of 32 bits.
func (j *jenkins) sum() uint64 {
	step := func(x, y *uint32, n int) {
		*x ^= *y
		*x -= bits.RotateLeft32(*y, n)
	}
	step(&j.c, &j.b, 14)
	step(&j.a, &j.c, 11)
	step(&j.b, &j.a, 25)
	step(&j.c, &j.b, 16)
	step(&j.a, &j.c, 4)
	step(&j.b, &j.a, 14)
	step(&j.c, &j.b, 24)
	return uint64(j.b)<<32 | uint64(j.c)
}

func hashBytes(s string, seed uint64) uint64 {
	j := newJenkins(len(s), seed)
	for len(s) >= 12 {
		j.a += binary.LittleEndian.Uint32([]byte(s[:4]))
		j.b += binary.LittleEndian.Uint32([]byte(s[4:8]))
		j.c += binary.LittleEndian.Uint32([]byte(s[8:12]))
		j.mix()
		s = s[12:]
	}
	for i := range len(s) {
		switch v := uint32(s[i]); {
		case i < 4:
			j.a += v << (8 * i)
		case i < 8:
			j.b += v << (8 * (i - 4))
		default:
			j.c += v << (8 * (i - 7)) // the lowest byte of c is the length's
		}
	}
	return j.sum()
}

func hashInt(v uint32, seed uint64) uint64 {
	j := newJenkins(4, seed)
	j.a += v
	return j.sum()
}

// hashLarge returns the hash of a bigint, which an equal integer has too.
func hashLarge(i int64, seed uint64) uint64 {
	low, high := uint32(i), uint32(i>>32)
	if i < 0 {
		high = ^high
	}
	return hashInt(low^high, seed)
}

func hashFloat(f float64, seed uint64) uint64 {
	switch {
	case f == 0:
		return seed
	case math.IsNaN(f):
		f = math.Float64frombits(0x7ff8000000000000)
	}
	return hashBytes(string(binary.LittleEndian.AppendUint64(nil, math.Float64bits(f))), seed)
}

// hashChar returns the hash of a "char", which is a signed byte.
func hashChar(s string, seed uint64) uint64 {
	if s == "" {
		return hashInt(0, seed)
	}
	return hashInt(uint32(int32(int8(s[0]))), seed)
}

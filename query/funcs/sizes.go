package funcs

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Functions about sizes (PostgreSQL 15, section 9.27.7).
func init() {
	SessionFamily.Function("pg_size_pretty", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return prettySize(types.DecimalFromInt(a[0].I))
	}, types.Int8)
	SessionFamily.Function("pg_size_pretty", types.Text, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return prettySize(a[0].Decimal())
	}, types.Numeric)
	SessionFamily.Function("pg_size_bytes", types.Int8, func(_ *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		return sizeBytes(a[0].S)
	}, types.Text)
	SessionFamily.Function("pg_column_size", types.Int4, func(env *exec.CallEnv, a []types.Datum) (types.Datum, error) {
		n, err := columnSize(a[0], env.ArgType(0))
		return types.NewInt(int64(n)), err
	}, exec.AnyValue)
}

var sizeUnits = []string{"bytes", "kB", "MB", "GB", "TB", "PB"}

// prettySize changes the unit above ten times 1024, and rounds half away from zero.
func prettySize(d *types.Decimal) (types.Datum, error) {
	if !d.IsFinite() {
		return types.NewText(d.String() + " PB"), nil
	}
	n, _ := new(big.Int).SetString(d.Trunc(0).String(), 10)
	size := d.String()
	// From kB on, n counts halves of the unit, to round.
	limit, bits := int64(10*1024), uint(9)
	for i, unit := range sizeUnits {
		if i == len(sizeUnits)-1 || n.CmpAbs(big.NewInt(limit)) < 0 {
			if i > 0 {
				size = n.Add(n, big.NewInt(int64(n.Sign()))).Quo(n, big.NewInt(2)).String()
			}
			return types.NewText(size + " " + unit), nil
		}
		n.Quo(n, new(big.Int).Lsh(big.NewInt(1), bits))
		limit, bits = 20*1024-1, 10
	}
	return types.Null, nil
}

// sizeBytes reads a size with a unit.
func sizeBytes(text string) (types.Datum, error) {
	bad := func() (types.Datum, error) {
		return types.Null, sqlstate.New(sqlstate.InvalidParameterValue, `invalid size: "%s"`, text)
	}
	s := strings.TrimSpace(text)
	end := 0
	take := func(set string) bool {
		from := end
		for end < len(s) && strings.IndexByte(set, s[end]) >= 0 {
			end++
		}
		return end > from
	}
	const digits = "0123456789"
	if end < len(s) && (s[end] == '-' || s[end] == '+') {
		end++
	}
	have := take(digits)
	if end < len(s) && s[end] == '.' {
		end++
		have = take(digits) || have
	}
	if !have {
		return bad()
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		mantissa := end
		if end++; end < len(s) && (s[end] == '-' || s[end] == '+') {
			end++
		}
		if !take(digits) {
			end = mantissa // it belongs to the unit
		}
	}
	d, err := types.ParseDecimal(s[:end])
	if err != nil {
		return types.Null, err
	}
	if unit := strings.TrimSpace(s[end:]); unit != "" {
		i := 0
		for i < len(sizeUnits) && !strings.EqualFold(unit, sizeUnits[i]) {
			i++
		}
		if i == len(sizeUnits) {
			_, err := bad()
			return types.Null, sqlstate.From(err).WithDetail(`Invalid size unit: "%s".`, unit).
				WithHint(`Valid units are "bytes", "kB", "MB", "GB", "TB", and "PB".`)
		}
		if d, err = d.Mul(types.DecimalFromInt(1 << (10 * i))); err != nil {
			return types.Null, err
		}
	}
	return types.Cast(types.NewNumeric(d), types.Numeric, types.Int8, -1, nil)
}

const (
	varHeader   = 4 // of a value of variable length
	jsonEntry   = 4 // of an element, key or value of a jsonb, and of the header of a container
	arrayHeader = 24
	rowHeader   = 24
)

// columnSize returns the bytes that PostgreSQL needs for a value in memory. A stored value may need less there.
func columnSize(d types.Datum, t types.OID) (int, error) {
	info := types.Lookup(t)
	switch {
	case t == types.Record:
		n := rowHeader
		a := d.Array()
		for i, it := range a.Items {
			if it.IsNull() {
				n = max(n, rowHeader+((len(a.Items)+7)/8+7)/8*8)
				continue
			}
			size, err := columnSize(it, a.Types[i])
			if err != nil {
				return 0, err
			}
			if of := types.Lookup(a.Types[i]); of != nil && of.Len == -1 && size-varHeader+1 <= 127 {
				n += size - varHeader + 1 // with a header of one byte, and without alignment
			} else {
				n = aligned(n, a.Types[i]) + size
			}
		}
		return n, nil
	case d.K == types.KArray:
		items := d.Array().Items
		if len(items) == 0 {
			return 16, nil
		}
		n, elem := arrayHeader, d.Array().Elem
		for _, it := range items {
			if it.IsNull() {
				n = arrayHeader + ((len(items)+7)/8+7)/8*8
				break
			}
		}
		for _, it := range items {
			if it.IsNull() {
				continue
			}
			size, err := columnSize(it, elem)
			if err != nil {
				return 0, err
			}
			n = aligned(n+size, elem)
		}
		return n, nil
	case t == types.JSONB:
		return varHeader + jsonSize(d.S), nil
	case t == types.Numeric:
		b, err := types.AppendBinary(nil, d, t, nil)
		return numericSize(b), err
	case t == types.Unknown:
		return len(d.S) + 1, nil
	case info != nil && info.Len > 0:
		return int(info.Len), nil
	}
	b, err := types.AppendBinary(nil, d, t, &types.Env{})
	return varHeader + len(b), err
}

// numericSize returns the size of a numeric with the given binary form. Small numbers have a header of two bytes.
func numericSize(b []byte) int {
	digits, weight, scale := int(b[0])<<8|int(b[1]), int(int16(uint16(b[2])<<8|uint16(b[3]))), int(b[6])<<8|int(b[7])
	header := 4
	if special := b[4]&0xC0 == 0xC0; special || scale <= 63 && weight >= -64 && weight <= 63 {
		header = 2
	}
	return varHeader + header + 2*digits
}

func aligned(n int, t types.OID) int {
	to := 1
	if info := types.Lookup(t); info != nil {
		to = map[byte]int{'s': 2, 'i': 4, 'd': 8}[info.Align]
	}
	return (n + max(to, 1) - 1) / max(to, 1) * max(to, 1)
}

// jsonSize returns the size of a jsonb without its header. A value that is no container is an array of one.
func jsonSize(s string) int {
	n := jsonEntry
	add := func(v string) {
		switch types.JSONKindOf(v) {
		case types.JSONNumber:
			if d, err := types.ParseDecimal(strings.TrimSpace(v)); err == nil {
				if b, err := types.AppendBinary(nil, types.NewNumeric(d), types.Numeric, nil); err == nil {
					n = (n+3)/4*4 + numericSize(b)
				}
			}
		case types.JSONString:
			n += len(types.JSONStringText(v))
		case types.JSONList, types.JSONObject:
			n = (n+3)/4*4 + jsonSize(v)
		}
	}
	switch types.JSONKindOf(s) {
	case types.JSONObject:
		members := map[string]string{}
		var names []string
		types.JSONMembers(s, func(k, v string) bool {
			name := types.JSONStringText(k)
			if _, known := members[name]; !known {
				names = append(names, name)
			}
			members[name] = v
			return true
		})
		n += 2 * jsonEntry * len(names)
		slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		for _, name := range names {
			n += len(name)
		}
		for _, name := range names {
			add(members[name])
		}
	case types.JSONList:
		n += jsonEntry * types.JSONLen(s)
		types.JSONElements(s, func(v string) bool { add(v); return true })
	default:
		n += jsonEntry
		add(s)
	}
	return n
}

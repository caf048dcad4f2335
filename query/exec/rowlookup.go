package exec

import (
	"encoding/binary"
	"slices"

	"github.com/divandb/divan/query/exec/spill"
	"github.com/divandb/divan/query/types"
)

// rowKinds is a set of the rows of a Match for left sides that are NULL in certain columns. A row's key is the set of
// its own NULL columns, and the hashes of the columns that are NULL on neither side: rows with the key of a left side
// are equal to it as far as they can be compared.
type rowKinds struct {
	set   *spill.Set
	nulls []uint64 // the different sets of NULL columns of rows
}

// maxRowKinds limits the sets for left sides that are NULL in different columns, and the keys that are looked up in
// one. Left sides of other kinds are compared with each row.
const maxRowKinds = 16

// lookUpRow is lookUp for rows. It returns false if they must be compared one by one.
func (q *Subquery) lookUpRow(env *Env, st *subState) (types.Datum, bool, error) {
	if st.sides == nil {
		if st.sides = rowSides(q.Match); len(st.sides) == 0 || len(st.sides) > 64 {
			st.sides = []*Call{}
		}
	}
	if len(st.sides) == 0 {
		return types.Null, false, nil
	}
	hashes, nulls, err := st.hashSide(env, 0)
	if err != nil {
		return types.Null, false, err
	}
	k := st.kinds[nulls]
	if k == nil {
		if len(st.kinds) == maxRowKinds {
			return types.Null, false, nil
		}
		if k, err = st.kindsFor(env, nulls); err != nil {
			return types.Null, false, err
		}
	}
	if len(k.nulls) > maxRowKinds {
		return types.Null, false, nil
	}
	out := types.NewBool(q.Any.All)
	var key []byte
	for _, rows := range k.nulls {
		key = appendKind(key[:0], hashes, rows, nulls|rows)
		found, err := k.set.Has(key)
		switch {
		case err != nil:
			return types.Null, false, err
		case found && nulls|rows == 0:
			return types.NewBool(!q.Any.All), true, nil
		case found:
			out = types.Null
		}
	}
	return out, true, nil
}

// kindsFor makes the set for left sides that are NULL in these columns.
func (st *subState) kindsFor(env *Env, nulls uint64) (*rowKinds, error) {
	k := &rowKinds{set: env.Spill.NewSet()}
	if st.kinds == nil {
		st.kinds = map[uint64]*rowKinds{}
	}
	st.kinds[nulls] = k
	around := env.let
	defer func() { env.let = around }()
	var key []byte
	return k, st.each(env, func(row []types.Datum) error {
		env.let = &letValue{row[0], around}
		hashes, own, err := st.hashSide(env, 1)
		if err != nil || len(k.nulls) > maxRowKinds {
			return err
		}
		if !slices.Contains(k.nulls, own) {
			k.nulls = append(k.nulls, own)
		}
		key = appendKind(key[:0], hashes, own, nulls|own)
		_, err = k.set.Add(key)
		return err
	})
}

// hashSide returns the hashes of one side of the equalities, until it is called again, and which values are NULL.
func (st *subState) hashSide(env *Env, side int) (hashes [][]byte, nulls uint64, err error) {
	if st.hashes[side] == nil {
		st.hashes[side] = make([][]byte, len(st.sides))
	}
	hashes = st.hashes[side]
	for i, c := range st.sides {
		d, err := c.Args[side].Eval(env)
		if err != nil {
			return nil, 0, err
		}
		if d.IsNull() {
			nulls |= 1 << i
		} else if hashes[i], err = env.Hash(hashes[i][:0], d); err != nil {
			return nil, 0, err
		}
	}
	return hashes, nulls, nil
}

// appendKind appends a key of rowKinds to dst: the NULL columns of the row, and the hashes without those of a set.
func appendKind(dst []byte, hashes [][]byte, rows, without uint64) []byte {
	dst = binary.AppendUvarint(dst, rows)
	for i, h := range hashes {
		if without&(1<<i) == 0 {
			dst = append(dst, h...)
		}
	}
	return dst
}

// rowSides returns the equalities of a Match: calls whose first argument does not depend on the record of a row, and
// whose second one does. It returns nil if there are other conditions.
func rowSides(match Expr) []*Call {
	var out []*Call
	for _, e := range Conjuncts(match) {
		c, ok := e.(*Call)
		if !ok || c.Op != "=" || len(c.Args) != 2 {
			return nil
		}
		Walk(c.Args[0], func(x Expr) {
			switch x.(type) {
			case *It, *Let, *Subquery:
				ok = false
			}
		})
		if !ok {
			return nil
		}
		out = append(out, c)
	}
	return out
}

package collate

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// Compare orders two JSON texts as CouchDB does, without building keys: -1, 0 or 1. It is the definition that the
// keys are tested against, and serves merges that compare few pairs. The errors are those of AppendKey; text after
// the first difference is not checked.
func Compare(a, b []byte) (int, error) { return CompareStepping(a, b, nil) }

// CompareStepping is Compare for texts that may be long. It regularly calls step with the number of bytes read since
// the last call, and ends if step returns an error.
func CompareStepping(a, b []byte, step func(n int) error) (int, error) {
	x, y := encoders.Get().(*encoder), encoders.Get().(*encoder)
	defer encoders.Put(x)
	defer encoders.Put(y)
	x.scanner, y.scanner = newScanner(a, step), newScanner(b, step)
	c, err := comparer{x, y}.value(0)
	if err == nil && c == 0 {
		if err = x.end(); err == nil {
			err = y.end()
		}
	}
	x.scanner, y.scanner = scanner{}, scanner{}
	return c, err
}

// comparer reads two texts in parallel until they differ.
type comparer struct{ a, b *encoder }

// rank returns the rank of the kind of value that starts with c; 0 if none does.
func rank(c byte) int {
	switch c {
	case 'n':
		return 1
	case 'f':
		return 2
	case 't':
		return 3
	case '"':
		return 5
	case '[':
		return 6
	case '{':
		return 7
	}
	if c == '-' || c-'0' < 10 {
		return 4
	}
	return 0
}

func (c comparer) value(depth int) (int, error) {
	if depth > MaxDepth {
		return 0, ErrDepth
	}
	if err := c.a.stepped(); err != nil {
		return 0, err
	}
	if err := c.b.stepped(); err != nil {
		return 0, err
	}
	ra, rb := rank(c.a.Space()), rank(c.b.Space())
	if ra == 0 || rb == 0 {
		return 0, ErrSyntax
	}
	if ra != rb {
		return cmp.Compare(ra, rb), nil
	}
	switch ra {
	case 4:
		return c.number()
	case 5:
		return c.text()
	case 6:
		return c.array(depth)
	case 7:
		return c.object(depth)
	}
	if err := c.a.skip(0); err != nil {
		return 0, err
	}
	return 0, c.b.skip(0)
}

func (c comparer) text() (int, error) {
	var err error
	var x, y []byte
	if x, c.a.text, err = c.a.scanner.text(c.a.text); err != nil {
		return 0, err
	}
	if y, c.b.text, err = c.b.scanner.text(c.b.text); err != nil {
		return 0, err
	}
	if bytes.Equal(x, y) {
		return 0, nil
	}
	return c.a.str.compare(x, y), nil
}

// number compares by value; a text with a fraction or an exponent counts as the nearest double.
func (c comparer) number() (int, error) {
	x, integerX, err := c.a.scanner.number()
	if err != nil {
		return 0, err
	}
	y, integerY, err := c.b.scanner.number()
	if err != nil {
		return 0, err
	}
	const short = 18 // digits of an int64, with a sign or without
	if integerX && integerY && len(x) <= short && len(y) <= short {
		return cmp.Compare(small(x), small(y)), nil
	}
	if f, ok := double(x, integerX); ok {
		if g, ok := double(y, integerY); ok {
			return cmp.Compare(f, g), nil
		}
	}
	p, err := rational(x, integerX)
	if err != nil {
		return 0, err
	}
	q, err := rational(y, integerY)
	if err != nil {
		return 0, err
	}
	return p.Cmp(q), nil
}

// double returns the value of a number as a double: exactly that of a short integer, or the nearest one of a text with
// a fraction or an exponent. ok is false for long integers, and for what is out of a double's range.
func double(text []byte, integer bool) (f float64, ok bool) {
	if integer {
		const exact = 15 // digits that every double has
		if len(text) > exact {
			return 0, false
		}
		return float64(small(text)), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// small returns the value of an integer that fits into an int64.
func small(text []byte) int64 {
	minus := text[0] == '-'
	if minus {
		text = text[1:]
	}
	var n int64
	for _, d := range text {
		n = n*10 + int64(d-'0')
	}
	if minus {
		return -n
	}
	return n
}

// rational returns the value of a number.
func rational(text []byte, integer bool) (*big.Rat, error) {
	if f, ok := double(text, integer); ok {
		return new(big.Rat).SetFloat64(f), nil
	}
	if !integer {
		if i := bytes.IndexAny(text, "eE"); i >= 0 {
			if n, err := strconv.Atoi(string(text[i+1:])); err != nil || n > MaxExponent {
				return nil, ErrRange
			}
		}
	}
	r, ok := new(big.Rat).SetString(string(text))
	if !ok {
		return nil, ErrSyntax
	}
	return r, nil
}

// next consumes the comma between elements, or the closing bracket, and reports whether another element follows.
func (s *scanner) next(closing byte, first bool) (bool, error) {
	switch c := s.Space(); {
	case c == closing:
		s.Pos++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.Pos++
		return true, nil
	}
	return false, ErrSyntax
}

// step advances both sides; done reports that at least one has ended, and order then compares their sizes.
func (c comparer) step(closing byte, first bool) (done bool, order int, err error) {
	moreA, err := c.a.next(closing, first)
	if err != nil {
		return true, 0, err
	}
	moreB, err := c.b.next(closing, first)
	switch {
	case err != nil:
		return true, 0, err
	case !moreA && !moreB:
		return true, 0, nil
	case !moreA:
		return true, -1, nil
	case !moreB:
		return true, 1, nil
	}
	return false, 0, nil
}

func (c comparer) array(depth int) (int, error) {
	c.a.Pos++
	c.b.Pos++
	for first := true; ; first = false {
		if done, order, err := c.step(']', first); done {
			return order, err
		}
		if order, err := c.value(depth + 1); err != nil || order != 0 {
			return order, err
		}
	}
}

func (c comparer) object(depth int) (int, error) {
	startA := c.a.Pos
	x, err := c.a.members(depth)
	if err != nil {
		return 0, err
	}
	y, err := c.b.members(depth)
	if err != nil {
		return 0, err
	}
	endA, endB := c.a.Pos, c.b.Pos
	if err := c.a.ahead(endA - startA); err != nil {
		return 0, err
	}
	for i := range min(len(x), len(y)) {
		c.a.Pos, c.b.Pos = x[i], y[i]
		if order, err := c.text(); err != nil || order != 0 {
			return order, err
		}
		c.a.Space()
		c.b.Space()
		c.a.Pos++
		c.b.Pos++
		if order, err := c.value(depth + 1); err != nil || order != 0 {
			return order, err
		}
	}
	c.a.Pos, c.b.Pos = endA, endB
	return cmp.Compare(len(x), len(y)), nil
}

// members returns the offsets of the members of the object at the scanner, without those replaced by a later member
// of the same name, and moves past the object.
func (e *encoder) members(depth int) ([]int, error) {
	repeated, err := e.repeated(depth)
	if err != nil {
		return nil, err
	}
	e.Pos++
	var starts []int
	for first := true; ; first = false {
		more, err := e.next('}', first)
		if err != nil || !more {
			return starts, err
		}
		if e.Space() != '"' {
			return nil, ErrSyntax
		}
		if !repeated[e.Pos] {
			starts = append(starts, e.Pos)
		}
		if _, _, ok := e.Quoted(); !ok {
			return nil, ErrSyntax
		}
		if e.Space() != ':' {
			return nil, ErrSyntax
		}
		e.Pos++
		if err := e.skip(depth + 1); err != nil {
			return nil, err
		}
	}
}

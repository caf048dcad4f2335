package regex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// charset is a set of characters, as sorted ranges that do not touch. number is its index among the sets of the
// pattern.
type charset struct {
	lo, hi []rune
	number int
}

const lastRune = unicode.MaxRune

// newCharset returns the set of ranges in any order, given as pairs of first and last.
func newCharset(pairs [][2]rune) *charset {
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0]) - int(b[0]) })
	c := &charset{}
	for _, p := range pairs {
		if n := len(c.hi); n > 0 && p[0] <= c.hi[n-1]+1 {
			c.hi[n-1] = max(c.hi[n-1], p[1])
			continue
		}
		c.lo, c.hi = append(c.lo, p[0]), append(c.hi, p[1])
	}
	return c
}

func (c *charset) pairs() [][2]rune {
	out := make([][2]rune, len(c.lo))
	for i := range c.lo {
		out[i] = [2]rune{c.lo[i], c.hi[i]}
	}
	return out
}

func (c *charset) complement() *charset {
	out, from := &charset{}, rune(0)
	for i, lo := range c.lo {
		if lo > from {
			out.lo, out.hi = append(out.lo, from), append(out.hi, lo-1)
		}
		from = c.hi[i] + 1
	}
	if from <= lastRune {
		out.lo, out.hi = append(out.lo, from), append(out.hi, lastRune)
	}
	return out
}

func (c *charset) has(r rune) bool {
	i, found := slices.BinarySearch(c.lo, r)
	return found || i > 0 && r <= c.hi[i-1]
}

func (c *charset) without(d *charset) *charset {
	return newCharset(append(c.complement().pairs(), d.pairs()...)).complement()
}

func union(sets ...*charset) *charset {
	var pairs [][2]rune
	for _, c := range sets {
		pairs = append(pairs, c.pairs()...)
	}
	return newCharset(pairs)
}

// classes are the character classes of the locale C.UTF-8.
var classes = func() map[string]*charset {
	ranges := func(pairs ...[2]rune) *charset { return newCharset(pairs) }
	digit := ranges([2]rune{'0', '9'})
	// There, digits of other scripts are letters, and so are marks and symbols that represent letters.
	alpha := ofTables(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.Nd).without(digit)
	space := ranges([2]rune{'\t', '\r'}, [2]rune{' ', ' '}, [2]rune{0x1680, 0x1680}, [2]rune{0x2000, 0x2006},
		[2]rune{0x2008, 0x200a}, [2]rune{0x2028, 0x2029}, [2]rune{0x205f, 0x205f}, [2]rune{0x3000, 0x3000})
	shown := ofTables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Co, unicode.Cf, unicode.Zs)
	graph := shown.without(space)
	return map[string]*charset{
		"alpha": alpha, "digit": digit, "alnum": union(alpha, digit), "space": space, "print": shown, "graph": graph,
		"word":   union(alpha, digit, ranges([2]rune{'_', '_'})),
		"upper":  ofTables(unicode.Lu, unicode.Lt, unicode.Other_Uppercase),
		"lower":  union(ofTables(unicode.Ll, unicode.Other_Lowercase), titles),
		"punct":  graph.without(alpha).without(digit),
		"xdigit": ranges([2]rune{'0', '9'}, [2]rune{'A', 'F'}, [2]rune{'a', 'f'}),
		"blank":  ranges([2]rune{'\t', '\t'}, [2]rune{' ', ' '}),
		"cntrl":  ofTables(unicode.Cc),
	}
}()

// titles are the title case letters that have an upper case.
var titles = newCharset([][2]rune{{0x1c5, 0x1c5}, {0x1c8, 0x1c8}, {0x1cb, 0x1cb}, {0x1f2, 0x1f2}})

func ofTables(tables ...*unicode.RangeTable) *charset {
	var pairs [][2]rune
	for _, t := range tables {
		for _, r := range t.R16 {
			pairs = appendStrided(pairs, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			pairs = appendStrided(pairs, rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return newCharset(pairs)
}

func appendStrided(pairs [][2]rune, lo, hi, stride rune) [][2]rune {
	if stride == 1 {
		return append(pairs, [2]rune{lo, hi})
	}
	for r := lo; r <= hi; r += stride {
		pairs = append(pairs, [2]rune{r, r})
	}
	return pairs
}

// class returns a class by name, or nil.
func class(name string) *charset { return classes[name] }

// intern returns one charset for equal sets of a pattern.
func (p *parser) intern(c *charset) *charset {
	for _, old := range p.sets {
		if slices.Equal(old.lo, c.lo) && slices.Equal(old.hi, c.hi) {
			return old
		}
	}
	own := &charset{lo: c.lo, hi: c.hi, number: len(p.sets)}
	p.sets = append(p.sets, own)
	return own
}

func (p *parser) ofSet(c *charset) *expr { return &expr{op: opSet, set: p.intern(c)} }

// char matches a character, in both cases if case is folded.
func (p *parser) char(r rune) *expr { return p.ofSet(newCharset(p.cases(nil, r))) }

func (p *parser) any() *expr {
	if p.flags.NewlineStop {
		return p.ofSet(newCharset([][2]rune{{'\n', '\n'}}).complement())
	}
	return p.ofSet((&charset{}).complement())
}

func (p *parser) cases(pairs [][2]rune, r rune) [][2]rune {
	pairs = append(pairs, [2]rune{r, r})
	if p.flags.Fold {
		for _, other := range []rune{unicode.ToLower(r), unicode.ToUpper(r)} {
			if other != r {
				pairs = append(pairs, [2]rune{other, other})
			}
		}
	}
	return pairs
}

// maxFolded limits the characters in ranges for which a pattern computes the other case.
const maxFolded = 1 << 21

// bracket reads a bracket expression, or a word boundary that looks like one.
func (p *parser) bracket() (*expr, error) {
	for text, a := range map[string]assertion{"[[:<:]]": wordBegin, "[[:>:]]": wordEnd} {
		if strings.HasPrefix(p.s[p.at:], text) {
			p.at += len(text)
			return &expr{op: opAssert, assert: a}, nil
		}
	}
	p.at++
	negated := strings.HasPrefix(p.s[p.at:], "^")
	if negated {
		p.at++
	}
	var pairs [][2]rune
	for first := true; ; first = false {
		if p.at == len(p.s) {
			return nil, ErrBracket
		}
		if p.s[p.at] == ']' && !first {
			p.at++
			break
		}
		if p.s[p.at] == '-' && !first && !strings.HasPrefix(p.s[p.at:], "-]") {
			return nil, ErrRange // after a range or a class
		}
		set, lo, err := p.member()
		if err != nil {
			return nil, err
		}
		rest := p.s[p.at:]
		ranged := strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, "-]")
		switch {
		case set != nil && ranged:
			return nil, ErrRange
		case set != nil:
			pairs = append(pairs, set.pairs()...)
			continue
		case !ranged:
			pairs = p.cases(pairs, lo)
			continue
		}
		p.at++
		if p.at == len(p.s) {
			return nil, ErrBracket
		}
		set, hi, err := p.member()
		switch {
		case err != nil:
			return nil, err
		case set != nil || lo > hi:
			return nil, ErrRange
		}
		pairs = append(pairs, [2]rune{lo, hi})
		if !p.flags.Fold {
			continue
		}
		if p.folded += int(hi-lo) + 1; p.folded > maxFolded {
			return nil, ErrTooBig
		}
		for r := lo; r <= hi; r++ {
			if l, u := unicode.ToLower(r), unicode.ToUpper(r); l != r || u != r {
				pairs = append(pairs, [2]rune{l, l}, [2]rune{u, u})
			}
		}
	}
	c := newCharset(pairs)
	if negated {
		if p.flags.NewlineStop {
			c = newCharset(append(c.pairs(), [2]rune{'\n', '\n'}))
		}
		c = c.complement()
	}
	return p.ofSet(c), nil
}

// member reads a character of a bracket expression, or a class, for which set is not nil.
func (p *parser) member() (set *charset, r rune, err error) {
	rest := p.s[p.at:]
	if rest[0] == '\\' && p.flags.Syntax == Advanced {
		p.at++
		if len(rest) == 1 || rest[1] >= '1' && rest[1] <= '9' && p.referred() > 0 {
			return nil, 0, ErrEscape
		}
		return p.escaped()
	}
	if len(rest) < 2 || rest[0] != '[' || strings.IndexByte(".=:", rest[1]) < 0 {
		return nil, p.rune(), nil
	}
	end := strings.Index(rest[2:], rest[1:2]+"]")
	if end < 0 {
		return nil, 0, ErrBracket
	}
	name := rest[2 : 2+end]
	p.at += end + 4
	if rest[1] == ':' {
		if p.flags.Fold && (name == "upper" || name == "lower") {
			name = "alpha"
		}
		if set = class(name); set == nil {
			return nil, 0, ErrClass
		}
		return set, 0, nil
	}
	r, n := utf8.DecodeRuneInString(name)
	if n < len(name) || n == 0 {
		var known bool
		if r, known = elements[name]; !known {
			return nil, 0, ErrCollate
		}
	}
	if rest[1] == '=' {
		return newCharset(p.cases(nil, r)), 0, nil // an equivalence class cannot end a range
	}
	return nil, r, nil
}

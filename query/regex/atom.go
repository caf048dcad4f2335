package regex

import "strings"

// assertion is a condition on a position, which consumes no characters.
type assertion uint8

const (
	textBegin assertion = iota
	textEnd
	lineBegin
	lineEnd
	wordBegin
	wordEnd
	wordEdge
	noWordEdge
)

// atom reads a character, a set, a group or an assertion.
func (p *parser) atom(first bool) (*expr, error) {
	if p.flags.Syntax == Basic {
		return p.basicAtom(first)
	}
	switch c := p.s[p.at]; c {
	case '*', '+', '?':
		return nil, ErrOperand
	case '{':
		if p.bound() {
			return nil, ErrOperand
		}
	case '(':
		return p.group()
	case '[':
		return p.bracket()
	case '.':
		p.at++
		return p.any(), nil
	case '^', '$':
		p.at++
		return p.anchor(c), nil
	case '\\':
		p.at++
		if p.at == len(p.s) {
			return nil, ErrEscape
		}
		if p.flags.Syntax == Advanced {
			return p.escape()
		}
	}
	return p.char(p.rune()), nil
}

// basicAtom reads an atom of a basic expression, where operators have backslashes.
func (p *parser) basicAtom(first bool) (*expr, error) {
	rest := p.s[p.at:]
	switch {
	case rest[0] == '[':
		return p.bracket()
	case rest[0] == '.':
		p.at++
		return p.any(), nil
	case rest[0] == '^' && first, rest[0] == '$' && (len(rest) == 1 || strings.HasPrefix(rest[1:], `\)`)):
		p.at++
		return p.anchor(rest[0]), nil
	case rest[0] == '*' && !first:
		return nil, ErrOperand
	case rest[0] != '\\':
		return p.char(p.rune()), nil
	case len(rest) == 1:
		return nil, ErrEscape
	}
	p.at++
	switch c := rest[1]; c {
	case '(':
		p.at++
		return p.body(true, `\)`)
	case '<':
		p.at++
		return &expr{op: opAssert, assert: wordBegin}, nil
	case '>':
		p.at++
		return &expr{op: opAssert, assert: wordEnd}, nil
	case ')':
		return nil, ErrParenthesis
	case '{':
		return nil, ErrOperand
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.at++
		return p.reference(int(c - '0'))
	}
	return p.char(p.rune()), nil
}

func (p *parser) anchor(c byte) *expr {
	a := textBegin
	if c == '$' {
		a = textEnd
	}
	if p.flags.NewlineAnchors {
		a += lineBegin - textBegin
	}
	return &expr{op: opAssert, assert: a}
}

// group reads an expression that begins with a parenthesis.
func (p *parser) group() (*expr, error) {
	p.at++
	rest := p.s[p.at:]
	if p.flags.Syntax != Advanced || !strings.HasPrefix(rest, "?") {
		return p.body(p.inLook == 0, ")")
	}
	e := &expr{op: opLook}
	switch rest = rest[1:]; {
	case strings.HasPrefix(rest, ":"):
		p.at += 2
		return p.body(false, ")")
	case strings.HasPrefix(rest, "="):
		p.at += 2
	case strings.HasPrefix(rest, "!"):
		p.at += 2
		e.negative = true
	case strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, "<!"):
		p.at += 3
		e.behind, e.negative = true, rest[1] == '!'
	default:
		return nil, ErrOperand
	}
	p.inLook++
	body, err := p.body(false, ")")
	p.inLook--
	e.sub = []*expr{body}
	return e, err
}

// body reads a group after its opening.
func (p *parser) body(capture bool, end string) (*expr, error) {
	number := 0
	if capture {
		p.groups++
		number = p.groups
	}
	e, err := p.alternation()
	switch {
	case err != nil:
		return nil, err
	case !strings.HasPrefix(p.s[p.at:], end):
		return nil, ErrParenthesis
	}
	p.at += len(end)
	if !capture {
		return e, nil
	}
	p.bodies[number] = e
	return &expr{op: opGroup, group: number, sub: []*expr{e}}, nil
}

func (p *parser) reference(n int) (*expr, error) {
	if p.inLook > 0 || p.bodies[n] == nil {
		return nil, ErrReference
	}
	p.references = true
	return &expr{op: opReference, group: n}, nil
}

// referred reads the number of a back reference. It returns 0 if the digits are an octal number instead: one digit is
// always a reference, several are if there are that many groups.
func (p *parser) referred() int {
	end, n := p.at, 0
	for end < len(p.s) && isDigit(p.s[end]) && n < 1<<20 {
		n = n*10 + int(p.s[end]-'0')
		end++
	}
	if end > p.at+1 && n > p.groups {
		return 0
	}
	p.at = end
	return n
}

// escape reads what follows a backslash outside brackets.
func (p *parser) escape() (*expr, error) {
	assert := func(a assertion) (*expr, error) {
		p.at++
		return &expr{op: opAssert, assert: a}, nil
	}
	switch c := p.s[p.at]; c {
	case 'A':
		return assert(textBegin)
	case 'Z':
		return assert(textEnd)
	case 'm':
		return assert(wordBegin)
	case 'M':
		return assert(wordEnd)
	case 'y':
		return assert(wordEdge)
	case 'Y':
		return assert(noWordEdge)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if n := p.referred(); n > 0 {
			return p.reference(n)
		}
	}
	set, r, err := p.escaped()
	if err != nil {
		return nil, err
	}
	if set != nil {
		return p.ofSet(set), nil
	}
	return p.char(r), nil
}

// escaped reads an escape for a character or, if set is not nil, for a character class.
func (p *parser) escaped() (set *charset, r rune, err error) {
	digits := func(base, least, most int) (rune, error) {
		n, i := 0, 0
		for ; i < most && p.at < len(p.s); i++ {
			d := strings.IndexByte("0123456789abcdefABCDEF", p.s[p.at])
			if d > 15 {
				d -= 6
			}
			if d < 0 || d >= base {
				break
			}
			if n = n*base + d; n > 0x7ffffffe {
				return 0, ErrEscape
			}
			p.at++
		}
		if i < least {
			return 0, ErrEscape
		}
		return rune(n), nil
	}
	c := p.s[p.at]
	if !isLetter(c) && !isDigit(c) {
		return nil, p.rune(), nil
	}
	p.at++
	switch c {
	case 'a':
		return nil, '\a', nil
	case 'b':
		return nil, '\b', nil
	case 'B':
		return nil, '\\', nil
	case 'c':
		if p.at == len(p.s) {
			return nil, 0, ErrEscape
		}
		return nil, p.rune() & 0x1f, nil
	case 'e':
		return nil, 0x1b, nil
	case 'f':
		return nil, '\f', nil
	case 'n':
		return nil, '\n', nil
	case 'r':
		return nil, '\r', nil
	case 't':
		return nil, '\t', nil
	case 'v':
		return nil, '\v', nil
	case 'd':
		return class("digit"), 0, nil
	case 'D':
		return class("digit").complement(), 0, nil
	case 's':
		return class("space"), 0, nil
	case 'S':
		return class("space").complement(), 0, nil
	case 'w':
		return class("word"), 0, nil
	case 'W':
		return class("word").complement(), 0, nil
	case 'u':
		r, err = digits(16, 4, 4)
		return nil, r, err
	case 'U':
		r, err = digits(16, 8, 8)
		return nil, r, err
	case 'x':
		r, err = digits(16, 1, 255)
		return nil, r, err
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		p.at--
		if r, err = digits(8, 1, 3); r > 0xff {
			p.at--
			r >>= 3
		}
		return nil, r, err
	}
	return nil, 0, ErrEscape
}

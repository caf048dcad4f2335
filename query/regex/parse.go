package regex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// op is the kind of an expression.
type op uint8

const (
	opSet       op = iota // one character of a set
	opConcat              // sub in sequence
	opAlternate           // one of sub
	opGroup               // sub[0], captured
	opReference           // the text that a group has matched
	opRepeat              // sub[0] min to max times
	opAssert              // empty, at positions of a kind
	opLook                // empty, where sub[0] matches ahead or behind, or does not
)

// expr is a part of a parsed pattern.
type expr struct {
	op       op
	sub      []*expr
	set      *charset
	min, max int // of opRepeat; max < 0 means no limit
	prefer   flags
	group    int // of opGroup and opReference
	assert   assertion
	behind   bool // of opLook
	negative bool
}

// Limits of patterns. PostgreSQL has the same limit for repetitions; the depth limit keeps the stack small.
const (
	maxRepeat = 255
	maxNested = 4000
)

// parser reads a pattern.
type parser struct {
	s          string
	at         int
	flags      Flags
	groups     int
	bodies     map[int]*expr // groups that are closed
	references bool
	inLook     int
	nested     int
	sets       []*charset
	folded     int
}

// parse parses a pattern with its prefixes.
func parse(s string, f Flags) (*parser, *expr, error) {
	p := &parser{s: s, flags: f, bodies: map[int]*expr{}}
	if err := p.prefixes(); err != nil {
		return nil, nil, err
	}
	if p.flags.Syntax == Literal {
		e := &expr{op: opConcat}
		for _, r := range p.s[p.at:] {
			e.sub = append(e.sub, p.char(r))
		}
		return p, e, nil
	}
	e, err := p.alternation()
	if err == nil && p.at < len(p.s) {
		err = ErrParenthesis
	}
	return p, e, err
}

// prefixes reads ***: and ***= and the options (?...) at the beginning.
func (p *parser) prefixes() error {
	if p.flags.Syntax == Literal {
		return nil
	}
	if rest, ok := strings.CutPrefix(p.s, "***"); ok {
		switch {
		case strings.HasPrefix(rest, "="):
			p.flags.Syntax, p.flags.Expanded = Literal, false
			p.flags.NewlineStop, p.flags.NewlineAnchors = false, false
			p.at = 4
			return nil
		case strings.HasPrefix(rest, ":"):
			p.flags.Syntax, p.at = Advanced, 4
		case strings.HasPrefix(rest, "?"):
			return ErrPattern
		default:
			return ErrOperand
		}
	}
	rest, ok := strings.CutPrefix(p.s[p.at:], "(?")
	if first, _ := utf8.DecodeRuneInString(rest); !ok || p.flags.Syntax != Advanced || !unicode.IsLetter(first) {
		return nil
	}
	for p.at += 2; p.at < len(p.s) && isLetter(p.s[p.at]); p.at++ {
		if err := p.flags.Option(p.s[p.at]); err != nil {
			return err
		}
	}
	if p.at == len(p.s) || p.s[p.at] != ')' {
		return ErrOption
	}
	p.at++
	if p.flags.Syntax == Literal {
		p.flags.Expanded, p.flags.NewlineStop, p.flags.NewlineAnchors = false, false, false
	}
	return nil
}

// Option applies the option of a letter, as in (?i).
func (f *Flags) Option(letter byte) error {
	switch letter {
	case 'b':
		f.Syntax = Basic
	case 'e':
		f.Syntax = Extended
	case 'q':
		f.Syntax = Literal
	case 'c':
		f.Fold = false
	case 'i':
		f.Fold = true
	case 'm', 'n':
		f.NewlineStop, f.NewlineAnchors = true, true
	case 'p':
		f.NewlineStop, f.NewlineAnchors = true, false
	case 's':
		f.NewlineStop, f.NewlineAnchors = false, false
	case 'w':
		f.NewlineStop, f.NewlineAnchors = false, true
	case 't':
		f.Expanded = false
	case 'x':
		f.Expanded = true
	default:
		return ErrOption
	}
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// alternation reads branches up to a closing parenthesis or the end.
func (p *parser) alternation() (*expr, error) {
	if p.nested++; p.nested > maxNested {
		return nil, ErrTooBig
	}
	defer func() { p.nested-- }()
	e := &expr{op: opAlternate}
	for {
		branch, err := p.branch()
		if err != nil {
			return nil, err
		}
		e.sub = append(e.sub, branch)
		if p.flags.Syntax == Basic || p.at == len(p.s) || p.s[p.at] != '|' {
			break
		}
		p.at++
	}
	if len(e.sub) == 1 {
		return e.sub[0], nil
	}
	return e, nil
}

// branch reads atoms with their quantifiers, and assertions.
func (p *parser) branch() (*expr, error) {
	e := &expr{op: opConcat}
	for {
		if err := p.skip(); err != nil {
			return nil, err
		}
		if p.ends() {
			return e, nil
		}
		atom, err := p.atom(e.anchored())
		if err != nil {
			return nil, err
		}
		if atom.op != opAssert && atom.op != opLook {
			if err := p.skip(); err != nil {
				return nil, err
			}
			if atom, err = p.quantified(atom); err != nil {
				return nil, err
			}
		}
		e.sub = append(e.sub, atom)
	}
}

// anchored reports whether only ^ has been read of a branch.
func (e *expr) anchored() bool {
	return len(e.sub) == 0 || len(e.sub) == 1 && e.sub[0].op == opAssert && (e.sub[0].assert == textBegin ||
		e.sub[0].assert == lineBegin)
}

// ends reports whether a branch ends here.
func (p *parser) ends() bool {
	switch {
	case p.at == len(p.s):
		return true
	case p.flags.Syntax == Basic:
		return p.nested > 1 && strings.HasPrefix(p.s[p.at:], `\)`)
	case p.s[p.at] == ')':
		// An unmatched one is an ordinary character, except in extended expressions.
		return p.nested > 1 || p.flags.Syntax != Extended
	}
	return p.s[p.at] == '|'
}

// skip skips comments, and white space if the pattern is expanded.
func (p *parser) skip() error {
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case p.flags.Expanded && strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			p.at++
		case p.flags.Expanded && c == '#':
			for p.at < len(p.s) && p.s[p.at] != '\n' {
				p.at++
			}
		case p.flags.Syntax == Advanced && strings.HasPrefix(p.s[p.at:], "(?#"):
			end := strings.IndexByte(p.s[p.at:], ')')
			if end < 0 {
				p.at = len(p.s)
				return nil
			}
			p.at += end + 1
		default:
			return nil
		}
	}
	return nil
}

// quantified reads the optional quantifier of an atom.
func (p *parser) quantified(atom *expr) (*expr, error) {
	if p.at == len(p.s) {
		return atom, nil
	}
	rep := &expr{op: opRepeat, sub: []*expr{atom}, min: 0, max: -1, prefer: longer}
	basic := p.flags.Syntax == Basic
	switch c := p.s[p.at]; {
	case c == '*':
	case c == '+' && !basic:
		rep.min = 1
	case c == '?' && !basic:
		rep.max = 1
	case c == '{' && !basic && p.bound():
		return p.bounds(rep, "}")
	case basic && strings.HasPrefix(p.s[p.at:], `\{`):
		p.at++
		return p.bounds(rep, `\}`)
	default:
		return atom, nil
	}
	p.at++
	p.lazy(rep)
	return rep, nil
}

// lazy reads the ? of a non-greedy quantifier.
func (p *parser) lazy(rep *expr) {
	if p.flags.Syntax == Advanced && p.at < len(p.s) && p.s[p.at] == '?' {
		p.at++
		rep.prefer = shorter
	}
}

// bound reports whether the brace here begins a bound. Otherwise it is an ordinary character.
func (p *parser) bound() bool { return p.at+1 < len(p.s) && isDigit(p.s[p.at+1]) }

// bounds reads {m}, {m,} or {m,n} from its brace.
func (p *parser) bounds(rep *expr, end string) (*expr, error) {
	p.at++
	number := func() (int, error) {
		n, digits := 0, 0
		for ; p.at < len(p.s) && isDigit(p.s[p.at]) && n <= maxRepeat; p.at++ {
			n = n*10 + int(p.s[p.at]-'0')
			digits++
		}
		if digits == 0 || n > maxRepeat {
			return 0, ErrBounds
		}
		return n, nil
	}
	var err error
	if rep.min, err = number(); err != nil {
		return nil, err
	}
	exact := true
	if rep.max = rep.min; p.at < len(p.s) && p.s[p.at] == ',' {
		exact = false
		if p.at++; p.at < len(p.s) && isDigit(p.s[p.at]) {
			if rep.max, err = number(); err != nil {
				return nil, err
			}
			if rep.min > rep.max {
				return nil, ErrBounds
			}
		} else {
			rep.max = -1
		}
	}
	switch {
	case p.at == len(p.s):
		return nil, ErrBrace
	case !strings.HasPrefix(p.s[p.at:], end):
		return nil, ErrBounds
	}
	p.at += len(end)
	if p.lazy(rep); exact {
		rep.prefer = 0 // {m} has the preference of its atom
	}
	return rep, nil
}

// rune reads a character.
func (p *parser) rune() rune {
	r, n := utf8.DecodeRuneInString(p.s[p.at:])
	p.at += n
	return r
}

package sql

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// Precedence of PostgreSQL 15, section 4.1.6, from loose to tight.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare // < > = <= >= <>; does not associate
	precIn      // BETWEEN IN LIKE ILIKE SIMILAR; does not associate
	precOther   // any other operator
	precAdd
	precMul
	precPower
	precAt // AT TIME ZONE
	precCollate
	precUnary
)

// frag is a piece of rewritten text. The library's grammar tells values from conditions: a condition goes where a value is wanted
// only in brackets.
type frag struct {
	text      string
	condition bool
}

func (f frag) value() string {
	if f.condition {
		return "(" + f.text + ")"
	}
	return f.text
}

func value(text string) frag { return frag{text: text} }

// constant files a constant or a parameter and writes it as a bind variable.
func (r *rewriter) constant(c constant) string {
	r.hold(constantSize)
	r.constants = append(r.constants, c)
	return ":v" + strconv.Itoa(len(r.constants)-1)
}

// expression rewrites an expression for a place where anything may stand.
func (r *rewriter) expression() (string, error) {
	f, err := r.expr(precOr)
	return f.text, err
}

// binary rewrites an expression of at least the precedence for a place where a value must stand.
func (r *rewriter) binary(prec int) (string, error) {
	f, err := r.expr(prec)
	return f.value(), err
}

// infix tells the precedence of the token as an infix operator, 0 for none.
func infix(t token) int {
	switch t.Kind {
	case tOperator:
		switch t.Text {
		case "<", ">", "=", "<=", ">=", "<>":
			return precCompare
		case "+", "-":
			return precAdd
		case "*", "/", "%":
			return precMul
		case "^":
			return precPower
		}
		return precOther
	case tIdent:
		switch t.Text {
		case "or":
			return precOr
		case "and":
			return precAnd
		case "is", "isnull", "notnull":
			return precIs
		case "in", "between", "like", "ilike", "similar", "not":
			return precIn
		case "operator":
			return precOther
		case "at":
			return precAt
		case "collate":
			return precCollate
		}
	}
	return 0
}

// expr climbs: it reads a prefix and then the infix operators that bind at least as tightly as min.
func (r *rewriter) expr(min int) (frag, error) {
	if err := r.enter(); err != nil {
		return frag{}, err
	}
	defer r.leave()
	left, err := r.prefix()
	for n := 0; err == nil; n++ {
		if err := r.wrapped(n); err != nil {
			return frag{}, err
		}
		t := r.peek()
		prec := infix(t)
		if prec == 0 || prec < min || t.word("not") && !r.peekAt(1).words("in", "between", "like", "ilike", "similar") ||
			t.word("operator") && !r.peekAt(1).is("(") || t.word("at") && !r.peekAt(1).word("time") {
			break
		}
		switch prec {
		case precOr, precAnd:
			left, err = r.logic(left, t.Text, prec)
		case precIs:
			left, err = r.is(left)
		case precIn:
			left, err = r.inLikeBetween(left)
		case precAt:
			left, err = r.atTimeZone(left)
		case precCollate:
			if left, err = r.collate(left); err == nil && r.peek().is("::") {
				left, err = r.postfix(left)
			}
		default:
			left, err = r.chain(left, prec)
		}
		if err == nil && (prec == precIn || prec == precCompare) && infix(r.peek()) == prec && !r.peek().word("not") {
			return frag{}, r.unexpected()
		}
	}
	return left, err
}

// wrapped bounds what wraps one text n times: it nests in the rewritten text though not in the source.
func (r *rewriter) wrapped(n int) error {
	if r.depth+n > maxDepth {
		return sqlstate.New(sqlstate.StatementTooComplex, "statement is nested more than %d levels deep", maxDepth).At(r.peek().Off)
	}
	return nil
}

// logic rewrites a AND b AND ... with as few brackets as the library needs: none.
func (r *rewriter) logic(left frag, word string, prec int) (frag, error) {
	parts := []string{left.text}
	for r.acceptWord(word) {
		f, err := r.expr(prec + 1)
		if err != nil {
			return frag{}, err
		}
		parts = append(parts, f.text)
	}
	return frag{strings.Join(parts, " "+word+" "), true}, nil
}

// chain rewrites operators of one level as one call, so that a long a || b || c does not nest.
func (r *rewriter) chain(left frag, prec int) (frag, error) {
	n := note{kind: noteChain, off: r.peek().Off}
	args := []string{left.value()}
	for quantifiers := 0; infix(r.peek()) == prec; {
		t := r.peek()
		if t.word("operator") && !r.peekAt(1).is("(") {
			break
		}
		op, err := r.operatorSymbol()
		if err != nil {
			return frag{}, err
		}
		if r.peek().words("any", "some", "all") && r.peekAt(1).is("(") {
			if quantifiers++; quantifiers > 1 {
				return frag{}, r.unexpected()
			}
			if len(n.ops) > 0 {
				args = []string{r.call(n, args...)}
				n = note{kind: noteChain, off: t.Off}
			}
			q, err := r.quantified(args[0], op, t.Off)
			if err != nil {
				return frag{}, err
			}
			args[0] = q
			if prec == precCompare {
				break
			}
			continue
		}
		right, err := r.binary(prec + 1)
		if err != nil {
			return frag{}, err
		}
		n.ops, args = append(n.ops, opAt{op, t.Off}), append(args, right)
		if prec == precCompare {
			break
		}
	}
	if len(n.ops) == 0 {
		return value(args[0]), nil
	}
	return value(r.call(n, args...)), nil
}

// operatorSymbol reads an operator, also as OPERATOR(schema.op).
func (r *rewriter) operatorSymbol() (string, error) {
	t := r.take()
	if t.Kind == tOperator {
		return t.Text, nil
	}
	if err := r.expectPunct("("); err != nil {
		return "", err
	}
	if s := r.peek(); s.Kind == tIdent || s.Kind == tQuoted {
		if s.Text != "pg_catalog" {
			return "", sqlstate.New(sqlstate.UndefinedFunction, "operator does not exist").At(s.Off)
		}
		r.take()
		if err := r.expectPunct("."); err != nil {
			return "", err
		}
	}
	op := r.take()
	if op.Kind != tOperator {
		return "", r.unexpectedAt(op)
	}
	return op.Text, r.expectPunct(")")
}

// quantified rewrites x op ANY|SOME|ALL (array or query).
func (r *rewriter) quantified(x, op string, off int) (string, error) {
	n := note{kind: noteQuantify, off: off, text: op, star: r.take().Text == "all"}
	y, err := r.queryOrBracket()
	return r.call(n, x, y), err
}

// queryOrBracket reads (query) or (expression).
func (r *rewriter) queryOrBracket() (string, error) {
	if r.peek().is("(") && r.queryIn() {
		return r.query()
	}
	if err := r.expectPunct("("); err != nil {
		return "", err
	}
	e, err := r.binary(precOr)
	if err != nil {
		return "", err
	}
	return e, r.expectPunct(")")
}

// query reads a query in brackets.
func (r *rewriter) query() (string, error) {
	if err := r.expectPunct("("); err != nil {
		return "", err
	}
	inner, err := r.selectStatement()
	if err != nil {
		return "", err
	}
	return "(" + inner + ")", r.expectPunct(")")
}

func (r *rewriter) is(left frag) (frag, error) {
	t := r.take()
	n := note{kind: noteIs, off: t.Off}
	switch t.Text {
	case "isnull", "notnull":
		n.text, n.not = "null", t.Text == "notnull"
		return value(r.call(n, left.value())), nil
	}
	n.not = r.acceptWord("not")
	switch w := r.take(); {
	case w.words("null", "true", "false", "unknown"):
		n.text = w.Text
		return value(r.call(n, left.value())), nil
	case w.word("distinct"):
		if err := r.expectWord("from"); err != nil {
			return frag{}, err
		}
		n.text = "distinct"
		right, err := r.binary(precIs + 1)
		return value(r.call(n, left.value(), right)), err
	case w.words("json", "document", "normalized", "of"):
		return frag{}, sqlstate.Unsupported(w.Off, "Use IS NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM.", "IS %s is not supported", strings.ToUpper(w.Text))
	default:
		return frag{}, r.unexpectedAt(w)
	}
}

func (r *rewriter) inLikeBetween(left frag) (frag, error) {
	off := r.peek().Off
	not := r.acceptWord("not")
	word := " "
	if not {
		word = " not "
	}
	switch t := r.take(); t.Text {
	case "in":
		if r.peek().is("(") && r.queryIn() {
			q, err := r.query()
			return frag{left.value() + word + "in " + q, true}, err
		}
		list, err := r.bracketList()
		return frag{left.value() + word + "in (" + strings.Join(list, ", ") + ")", true}, err
	case "between":
		symmetric := r.acceptWord("symmetric")
		if !symmetric {
			r.acceptWord("asymmetric")
		}
		low, err := r.binary(precIn + 1)
		if err != nil {
			return frag{}, err
		}
		if err := r.expectWord("and"); err != nil {
			return frag{}, err
		}
		high, err := r.binary(precIn + 1)
		if symmetric {
			return value(r.call(note{kind: noteBetween, off: off, not: not}, left.value(), low, high)), err
		}
		return frag{left.value() + word + "between " + low + " and " + high, true}, err
	case "similar":
		if err := r.expectWord("to"); err != nil {
			return frag{}, err
		}
		return r.like(left, note{kind: noteLike, off: off, text: "similar", not: not})
	default:
		return r.like(left, note{kind: noteLike, off: off, text: t.Text, not: not})
	}
}

func (r *rewriter) like(left frag, n note) (frag, error) {
	if r.peek().words("any", "all", "some") && r.peekAt(1).is("(") {
		op := map[string]string{"like": "~~", "ilike": "~~*"}[n.text]
		if op == "" {
			return frag{}, r.unexpected()
		}
		if n.not {
			op = "!" + op
		}
		q, err := r.quantified(left.value(), op, n.off)
		return value(q), err
	}
	pattern, err := r.binary(precIn + 1)
	if err != nil {
		return frag{}, err
	}
	args := []string{left.value(), pattern}
	if r.acceptWord("escape") {
		escape, err := r.binary(precIn + 1)
		if err != nil {
			return frag{}, err
		}
		args = append(args, escape)
	}
	return value(r.call(n, args...)), nil
}

func (r *rewriter) atTimeZone(left frag) (frag, error) {
	t := r.take()
	r.take()
	if err := r.expectWord("zone"); err != nil {
		return frag{}, err
	}
	zone, err := r.binary(precAt + 1)
	return value(r.call(note{kind: noteCall, off: t.Off, name: []string{"timezone"}, args: 2}, zone, left.value())), err
}

// collate rewrites x COLLATE name, the name with a schema or without.
func (r *rewriter) collate(left frag) (frag, error) {
	n := note{kind: noteCollate, off: r.take().Off}
	for {
		part, err := r.label()
		if err != nil {
			return frag{}, err
		}
		if n.name = append(n.name, part); !r.acceptPunct(".") {
			return value(r.call(n, left.value())), nil
		}
	}
}

// prefix reads NOT, signs and prefix operators, or a primary with what follows it.
func (r *rewriter) prefix() (frag, error) {
	t := r.peek()
	switch {
	case t.word("not"):
		r.take()
		f, err := r.expr(precNot)
		return frag{"not " + f.value(), true}, err
	case t.op("-") || t.op("+"):
		r.take()
		// A sign belongs to the number, so that -9223372036854775808 is an integer.
		if n := r.peek(); t.op("-") && (n.Kind == tInteger || n.Kind == tNumber) && !r.peekAt(1).is("::") && !r.peekAt(1).is("[") {
			r.take()
			return value(r.constant(constant{off: t.Off, tok: n.Kind, text: "-" + n.Text})), nil
		}
		arg, err := r.binary(precUnary)
		return value(r.call(note{kind: notePrefix, off: t.Off, text: t.Text}, arg)), err
	case t.Kind == tOperator && !t.op("*"):
		r.take()
		arg, err := r.binary(precOther + 1)
		return value(r.call(note{kind: notePrefix, off: t.Off, text: t.Text}, arg)), err
	}
	f, err := r.primary()
	if err != nil {
		return f, err
	}
	return r.postfix(f)
}

// postfix reads ::type, [subscript] and .field behind a primary.
func (r *rewriter) postfix(f frag) (frag, error) {
	for n := 0; ; n++ {
		if err := r.wrapped(n); err != nil {
			return f, err
		}
		t := r.peek()
		switch {
		case t.is("::"):
			r.take()
			typ, err := r.typeName()
			if err != nil {
				return f, err
			}
			f = value(r.call(note{kind: noteCast, off: t.Off, typ: typ}, f.value()))
		case t.is("["):
			var err error
			if f, err = r.subscript(f); err != nil {
				return f, err
			}
		case t.is("."):
			r.take()
			n := note{kind: noteField, off: t.Off}
			if r.peek().op("*") {
				r.take()
				n.text = "*"
			} else {
				var err error
				if n.text, err = r.label(); err != nil {
					return f, err
				}
			}
			f = value(r.call(n, f.value()))
		default:
			return f, nil
		}
	}
}

func (r *rewriter) subscript(f frag) (frag, error) {
	n := note{kind: noteSubscript, off: r.take().Off}
	args := []string{f.value()}
	if !r.peek().is(":") {
		e, err := r.binary(precOr)
		if err != nil {
			return f, err
		}
		args = append(args, e)
		n.args |= 1
	}
	if r.acceptPunct(":") {
		n.star = true
		if !r.peek().is("]") {
			e, err := r.binary(precOr)
			if err != nil {
				return f, err
			}
			args = append(args, e)
			n.args |= 2
		}
	}
	return value(r.call(n, args...)), r.expectPunct("]")
}

package sql

import (
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// primary reads a constant, a parameter, a name, a call, CASE, a bracket, ARRAY, ROW, EXISTS or one of the functions that SQL writes
// with words.
func (r *rewriter) primary() (frag, error) {
	t := r.peek()
	switch t.Kind {
	case tString, tInteger, tNumber, tBits:
		r.take()
		return value(r.constant(constant{off: t.Off, tok: t.Kind, text: t.Text})), nil
	case tParam:
		r.take()
		return value(r.constant(constant{off: t.Off, tok: tParam, text: t.Text})), nil
	case tPunct:
		if t.is("(") {
			return r.bracket()
		}
	case tIdent:
		if f, done, err := r.keyword(t); done || err != nil {
			return f, err
		}
		return r.named()
	case tQuoted:
		return r.named()
	}
	return frag{}, r.unexpected()
}

// bracket reads (query), (expression) or an implicit row (a, b).
func (r *rewriter) bracket() (frag, error) {
	t := r.peek()
	if r.queryIn() {
		q, err := r.query()
		return value(q), err
	}
	list, err := r.bracketList()
	if err != nil {
		return frag{}, err
	}
	if len(list) > 1 {
		return value(r.call(note{kind: noteRow, off: t.Off}, list...)), nil
	}
	return value("(" + list[0] + ")"), nil
}

// keyword reads the primaries that begin with a word of the grammar. done is false when the word is only a name.
func (r *rewriter) keyword(t token) (f frag, done bool, err error) {
	next := r.peekAt(1)
	switch t.Text {
	case "true", "false", "null":
		r.take()
		return value(r.constant(constant{off: t.Off, tok: tIdent, text: t.Text})), true, nil
	case "case":
		f, err = r.caseExpr()
		return f, true, err
	case "exists":
		if next.is("(") {
			r.take()
			q, err := r.query()
			return frag{"exists " + q, true}, true, err
		}
	case "array":
		f, err = r.array()
		return f, true, err
	case "row":
		if next.is("(") {
			r.take()
			f, err = r.row(t)
			return f, true, err
		}
	case "cast":
		f, err = r.castCall()
		return f, true, err
	case "extract", "position", "substring", "trim", "overlay":
		if next.is("(") {
			f, err = r.wordyCall(t)
			return f, true, err
		}
	case "interval":
		if next.Kind == tString {
			f, err = r.typedConstant()
			return f, true, err
		}
	case "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "current_user", "session_user", "user",
		"current_role", "current_catalog", "current_schema":
		if t.Text == "current_schema" && next.is("(") {
			break
		}
		r.take()
		if strings.HasSuffix(t.Text, "time") || strings.HasSuffix(t.Text, "timestamp") {
			if r.peek().is("(") && r.peekAt(1).Kind == tInteger {
				r.i += 2
				if err := r.expectPunct(")"); err != nil {
					return f, true, err
				}
			}
		}
		return value(r.call(note{kind: noteCall, off: t.Off, name: []string{t.Text}})), true, nil
	}
	if reserved[t.Text] {
		return frag{}, true, r.unexpected()
	}
	if r.constantOfType() {
		f, err = r.typedConstant()
		return f, true, err
	}
	return frag{}, false, nil
}

// constantOfType says that a type name and a string stand here, as in date '2024-01-01'.
func (r *rewriter) constantOfType() bool {
	start := r.i
	defer func() { r.i = start }()
	if t := r.peek(); t.Kind != tIdent && t.Kind != tQuoted || reserved[t.Text] {
		return false
	}
	if n := r.peekAt(1); n.Kind != tString && !n.is(".") && !n.is("(") && n.Kind != tIdent {
		return false
	}
	_, err := r.typeName()
	return err == nil && r.peek().Kind == tString
}

func (r *rewriter) typedConstant() (frag, error) {
	t := r.peek()
	typ, err := r.typeName()
	if err != nil {
		return frag{}, err
	}
	c := r.take()
	if c.Kind != tString {
		return frag{}, r.unexpectedAt(c)
	}
	if typ.parts[len(typ.parts)-1] == "interval" {
		// INTERVAL '1' DAY
		if u := r.peek(); u.words("year", "month", "day", "hour", "minute", "second") {
			r.take()
			c.Text += " " + u.Text
		}
	}
	return value(r.call(note{kind: noteCast, off: t.Off, typ: typ}, r.constant(constant{off: c.Off, tok: tString, text: c.Text}))), nil
}

// caseExpr uses the library's CASE.
func (r *rewriter) caseExpr() (frag, error) {
	r.take()
	var b strings.Builder
	b.WriteString("case")
	if !r.peek().word("when") {
		e, err := r.binary(precOr)
		if err != nil {
			return frag{}, err
		}
		b.WriteString(" " + e)
	}
	if !r.peek().word("when") {
		return frag{}, r.unexpected()
	}
	for r.acceptWord("when") {
		cond, err := r.binary(precOr)
		if err != nil {
			return frag{}, err
		}
		if err := r.expectWord("then"); err != nil {
			return frag{}, err
		}
		result, err := r.binary(precOr)
		if err != nil {
			return frag{}, err
		}
		b.WriteString(" when " + cond + " then " + result)
	}
	if r.acceptWord("else") {
		e, err := r.binary(precOr)
		if err != nil {
			return frag{}, err
		}
		b.WriteString(" else " + e)
	}
	b.WriteString(" end")
	return value(b.String()), r.expectWord("end")
}

func (r *rewriter) array() (frag, error) {
	t := r.take()
	if r.peek().is("(") && r.queryIn() {
		q, err := r.query()
		return value(r.call(note{kind: noteArraySub, off: t.Off}, q)), err
	}
	return r.arrayItems(t)
}

func (r *rewriter) arrayItems(t token) (frag, error) {
	if err := r.enter(); err != nil {
		return frag{}, err
	}
	defer r.leave()
	if err := r.expectPunct("["); err != nil {
		return frag{}, err
	}
	var items []string
	if !r.peek().is("]") {
		if err := r.list(func() error {
			if n := r.peek(); n.is("[") {
				f, err := r.arrayItems(n)
				items = append(items, f.text)
				return err
			}
			e, err := r.expression()
			items = append(items, e)
			return err
		}); err != nil {
			return frag{}, err
		}
	}
	return value(r.call(note{kind: noteArray, off: t.Off}, items...)), r.expectPunct("]")
}

func (r *rewriter) row(t token) (frag, error) {
	r.take()
	var items []string
	if !r.peek().is(")") {
		var err error
		if items, err = r.exprList(); err != nil {
			return frag{}, err
		}
	}
	return value(r.call(note{kind: noteRow, off: t.Off}, items...)), r.expectPunct(")")
}

func (r *rewriter) castCall() (frag, error) {
	t := r.take()
	if err := r.expectPunct("("); err != nil {
		return frag{}, err
	}
	e, err := r.binary(precOr)
	if err != nil {
		return frag{}, err
	}
	if err := r.expectWord("as"); err != nil {
		return frag{}, err
	}
	typ, err := r.typeName()
	if err != nil {
		return frag{}, err
	}
	return value(r.call(note{kind: noteCast, off: t.Off, typ: typ}, e)), r.expectPunct(")")
}

// wordyCall reads the functions whose arguments SQL divides by words, and their plain forms with commas.
func (r *rewriter) wordyCall(t token) (frag, error) {
	r.i += 2
	n := note{kind: noteCall, off: t.Off, name: []string{t.Text}}
	var args []string
	arg := func() error {
		e, err := r.binary(precIn + 1)
		args = append(args, e)
		return err
	}
	str := func(tok token) {
		args = append(args, r.constant(constant{off: tok.Off, tok: tString, text: tok.Text}))
	}
	var err error
	switch t.Text {
	case "extract":
		f := r.take()
		if f.Kind != tIdent && f.Kind != tString && f.Kind != tQuoted {
			return frag{}, r.unexpectedAt(f)
		}
		str(f)
		if err = r.expectWord("from"); err == nil {
			err = arg()
		}
	case "position":
		if err = arg(); err == nil {
			if err = r.expectWord("in"); err == nil {
				err = arg()
			}
		}
		if len(args) == 2 {
			args[0], args[1] = args[1], args[0]
			n.name[0] = "strpos"
		}
	case "trim":
		n.name[0] = "btrim"
		if w := r.peek(); w.words("both", "leading", "trailing") {
			n.name[0] = map[string]string{"both": "btrim", "leading": "ltrim", "trailing": "rtrim"}[w.Text]
			r.take()
		}
		if !r.peek().word("from") {
			err = arg()
		}
		if err == nil && r.acceptWord("from") {
			err = arg()
			if len(args) == 2 {
				args[0], args[1] = args[1], args[0]
			}
		}
	default: // substring, overlay
		err = arg()
		for err == nil && r.peek().words("from", "for", "placing") {
			w := r.take()
			if w.Text == "for" && len(args) == 1 {
				args = append(args, r.constant(constant{off: w.Off, tok: tInteger, text: "1"}))
			}
			err = arg()
		}
	}
	for err == nil && r.acceptPunct(",") {
		err = arg()
	}
	if err != nil {
		return frag{}, err
	}
	n.args = len(args)
	return value(r.call(n, args...)), r.expectPunct(")")
}

// named reads a column, t.*, or a call.
func (r *rewriter) named() (frag, error) {
	n := note{kind: noteColumn, off: r.peek().Off}
	for {
		if len(n.name) > 0 && r.peek().op("*") {
			r.take()
			n.star = true
			return value(r.name(n)), nil
		}
		part, err := r.label()
		if err != nil {
			return frag{}, err
		}
		n.name = append(n.name, part)
		if len(n.name) > 4 {
			return frag{}, syntaxError(n.off, "improper qualified name (too many dotted names): %s", strings.Join(n.name, "."))
		}
		if !r.acceptPunct(".") {
			break
		}
	}
	if r.peek().is("(") {
		return r.callArgs(n)
	}
	if t := r.toks[r.i-1]; len(n.name) == 1 && t.Kind == tIdent && typeFuncWords[t.Text] {
		r.i--
		return frag{}, r.unexpected()
	}
	return value(r.name(n)), nil
}

// callArgs reads the arguments of a call and what may follow them: FILTER and OVER.
func (r *rewriter) callArgs(n note) (frag, error) {
	n.kind = noteCall
	r.take()
	var args []string
	switch {
	case r.peek().op("*") && r.peekAt(1).is(")"):
		r.take()
		n.star = true
	case r.peek().is(")"):
	default:
		if n.distinct = r.acceptWord("distinct"); !n.distinct {
			r.acceptWord("all")
		}
		if err := r.list(func() error {
			n.variadic = r.acceptWord("variadic") || n.variadic
			e, err := r.expression()
			if err != nil {
				return err
			}
			if t := r.peek(); t.op("=>") || t.is(":=") {
				return sqlstate.Unsupported(t.Off, "Give the arguments by position.", "named arguments are not supported")
			}
			args = append(args, e)
			return nil
		}); err != nil {
			return frag{}, err
		}
		n.args = len(args)
		if r.acceptWord("order") {
			if err := r.expectWord("by"); err != nil {
				return frag{}, err
			}
			items, specs, err := r.orderList()
			if err != nil {
				return frag{}, err
			}
			args, n.orders, n.orderSpecs = append(args, items...), len(items), specs
		}
	}
	if err := r.expectPunct(")"); err != nil {
		return frag{}, err
	}
	if t := r.peek(); t.word("within") {
		return frag{}, sqlstate.Unsupported(t.Off, "Use min, max, avg, sum or count.", "ordered-set aggregates are not supported")
	}
	if r.peek().word("filter") && r.peekAt(1).is("(") {
		r.i += 2
		if err := r.expectWord("where"); err != nil {
			return frag{}, err
		}
		e, err := r.expression()
		if err != nil {
			return frag{}, err
		}
		args, n.filter = append(args, e), true
		if err := r.expectPunct(")"); err != nil {
			return frag{}, err
		}
	}
	if r.peek().word("over") {
		var err error
		if args, err = r.over(&n, args); err != nil {
			return frag{}, err
		}
	}
	return value(r.call(n, args...)), nil
}

// over reads OVER ([PARTITION BY ...] [ORDER BY ...]).
func (r *rewriter) over(n *note, args []string) ([]string, error) {
	t := r.take()
	if !r.peek().is("(") {
		return nil, sqlstate.Unsupported(t.Off, "Write the window in the OVER clause.", "named windows are not supported")
	}
	if n.orders > 0 {
		return nil, sqlstate.Unsupported(t.Off, "", "aggregate ORDER BY is not implemented for window functions")
	}
	r.take()
	n.over = true
	if r.acceptWord("partition") {
		if err := r.expectWord("by"); err != nil {
			return nil, err
		}
		list, err := r.exprList()
		if err != nil {
			return nil, err
		}
		args, n.partitions = append(args, list...), len(list)
	}
	if r.acceptWord("order") {
		if err := r.expectWord("by"); err != nil {
			return nil, err
		}
		items, specs, err := r.orderList()
		if err != nil {
			return nil, err
		}
		args, n.orders, n.orderSpecs = append(args, items...), len(items), specs
	}
	if t := r.peek(); t.words("rows", "range", "groups") {
		return nil, sqlstate.Unsupported(t.Off, "Leave out the frame.", "window frames are not supported")
	}
	return args, r.expectPunct(")")
}

// typeName reads a type: words of SQL's own names, or a name with a schema, modifiers and [].
func (r *rewriter) typeName() (typeName, error) {
	t := r.peek()
	typ := typeName{at: at(t.Off)}
	if t.Kind != tIdent && t.Kind != tQuoted || t.Kind == tIdent && reserved[t.Text] {
		return typ, r.unexpected()
	}
	r.take()
	name := t.Text
	if t.Kind == tIdent {
		switch {
		case name == "double" && r.acceptWord("precision"):
			name = "float8"
		case (name == "character" || name == "char" || name == "nchar") && r.acceptWord("varying"):
			name = "varchar"
		case name == "char" || name == "character" || name == "nchar":
			name = "bpchar"
			if !r.peek().is("(") {
				typ.mods = []string{"1"} // character is character(1)
			}
		case name == "national":
			r.acceptWord("character")
			name = "bpchar"
		}
	}
	typ.parts = []string{name}
	for r.acceptPunct(".") {
		part, err := r.label()
		if err != nil {
			return typ, err
		}
		typ.parts = append(typ.parts, part)
	}
	if r.acceptPunct("(") {
		if err := r.list(func() error {
			m := r.take()
			if m.op("-") {
				m = r.take()
				m.Text = "-" + m.Text
			}
			if m.Kind != tInteger {
				return r.unexpectedAt(m)
			}
			typ.mods = append(typ.mods, m.Text)
			return nil
		}); err != nil {
			return typ, err
		}
		if err := r.expectPunct(")"); err != nil {
			return typ, err
		}
	}
	if t.Kind == tIdent && (name == "timestamp" || name == "time") {
		switch {
		case r.peek().word("with") && r.peekAt(1).word("time"):
			r.i += 2
			typ.parts[0] += "tz"
			if err := r.expectWord("zone"); err != nil {
				return typ, err
			}
		case r.peek().word("without") && r.peekAt(1).word("time"):
			r.i += 2
			if err := r.expectWord("zone"); err != nil {
				return typ, err
			}
		}
	}
	for r.peek().is("[") && (r.peekAt(1).is("]") || r.peekAt(1).Kind == tInteger && r.peekAt(2).is("]")) {
		for !r.take().is("]") {
		}
		typ.array = true
	}
	if r.peek().word("array") {
		r.take()
		typ.array = true
	}
	return typ, nil
}

package sql

import (
	"strconv"
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

func itoa(n int) string { return strconv.Itoa(n) }

func (r *rewriter) from() (string, error) {
	if !r.acceptWord("from") {
		return "", nil
	}
	var items []string
	err := r.list(func() error {
		text, err := r.tableExpr()
		items = append(items, text)
		return err
	})
	return " from " + strings.Join(items, ", "), err
}

// tableExpr rewrites one item of FROM with the joins that follow it.
func (r *rewriter) tableExpr() (string, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.leave()
	left, err := r.tablePrimary()
	if err != nil {
		return "", err
	}
	for joined := 0; ; joined++ {
		if err := r.wrapped(joined); err != nil {
			return "", err
		}
		t := r.peek()
		n := note{kind: noteJoin, off: t.Off, text: "inner"}
		if n.not = r.acceptWord("natural"); n.not {
			t = r.peek()
		}
		switch {
		case t.words("left", "right", "full"):
			n.text = r.take().Text
			r.acceptWord("outer")
		case t.words("inner", "cross"):
			n.text = r.take().Text
		case !t.word("join"):
			if n.not {
				return "", r.unexpected()
			}
			return left, nil
		}
		if err := r.expectWord("join"); err != nil {
			return "", err
		}
		right, err := r.tablePrimary()
		if err != nil {
			return "", err
		}
		on, err := r.joinCondition(&n)
		if err != nil {
			return "", err
		}
		// The library knows no FULL JOIN: the note keeps the kind, the text always says LEFT.
		if joined > 0 {
			left = "(" + left + ")"
		}
		left += " left join " + right + " on " + on
	}
}

// joinCondition writes the note of a join as a call around its condition.
func (r *rewriter) joinCondition(n *note) (string, error) {
	switch {
	case n.text == "cross", n.not:
		return r.call(*n), nil
	case r.acceptWord("using"):
		cols, err := r.columnNames()
		if err != nil {
			return "", err
		}
		if len(cols) == 0 {
			return "", r.unexpected()
		}
		n.columns = cols
		if r.acceptWord("as") {
			return "", sqlstate.Unsupported(r.peek().Off, "Leave out the alias.", "an alias of JOIN USING is not supported")
		}
		return r.call(*n), nil
	}
	if err := r.expectWord("on"); err != nil {
		return "", err
	}
	on, err := r.expression()
	return r.call(*n, on), err
}

func (r *rewriter) tablePrimary() (string, error) {
	t := r.peek()
	lateral := r.acceptWord("lateral")
	switch {
	case r.peek().is("("):
		if r.queryIn() {
			return r.subselect(t.Off, lateral)
		}
		r.take()
		inner, err := r.tableExpr()
		if err != nil {
			return "", err
		}
		if err := r.expectPunct(")"); err != nil {
			return "", err
		}
		if n := r.peek(); n.word("as") || n.Kind == tQuoted {
			return "", sqlstate.Unsupported(n.Off, "Name the tables inside.", "an alias of a join is not supported")
		}
		return "(" + inner + ")", nil
	case r.peek().words("rows") && r.peekAt(1).word("from"):
		return "", sqlstate.Unsupported(t.Off, "Call one function.", "ROWS FROM is not supported")
	}
	if r.functionAhead() {
		return r.functionTable(lateral)
	}
	if lateral {
		return "", r.unexpected()
	}
	return r.tableName()
}

// functionAhead says that a name with a bracket behind it is next.
func (r *rewriter) functionAhead() bool {
	i := 0
	for {
		t := r.peekAt(i)
		if t.Kind != tIdent && t.Kind != tQuoted {
			return false
		}
		i++
		if r.peekAt(i).is("(") {
			return !(t.Kind == tIdent && reserved[t.Text])
		}
		if !r.peekAt(i).is(".") {
			return t.words("current_date", "current_user", "current_schema", "current_timestamp", "session_user")
		}
		i++
	}
}

// tableName rewrites [ONLY] name [*] [alias [(columns)]].
func (r *rewriter) tableName() (string, error) {
	r.acceptWord("only")
	n := note{kind: noteTable, off: r.peek().Off}
	for {
		var part string
		var err error
		if len(n.name) == 0 {
			var ok bool
			if part, ok = r.ident(); !ok {
				return "", r.unexpected()
			}
		} else if part, err = r.label(); err != nil {
			return "", err
		}
		n.name = append(n.name, part)
		if !r.acceptPunct(".") {
			break
		}
	}
	if r.peek().op("*") {
		r.take()
	}
	if err := r.alias(&n); err != nil {
		return "", err
	}
	if t := r.peek(); t.word("tablesample") {
		return "", sqlstate.Unsupported(t.Off, "Use LIMIT.", "TABLESAMPLE is not supported")
	}
	return r.name(n), nil
}

// alias reads [AS] alias [(columns)], or after AS a column definition list.
func (r *rewriter) alias(n *note) error {
	t := r.peek()
	switch {
	case r.acceptWord("as"):
		if r.peek().is("(") && n.kind == noteFuncTable {
			return r.columnDefs(n)
		}
		a, ok := r.ident()
		if !ok {
			return r.unexpected()
		}
		n.alias = a
	case t.Kind == tQuoted, t.Kind == tIdent && !reserved[t.Text] && !typeFuncWords[t.Text]:
		r.take()
		n.alias = t.Text
	default:
		return nil
	}
	if n.kind == noteFuncTable && r.peek().is("(") && r.peekAt(2).Kind != tPunct {
		return r.columnDefs(n)
	}
	var err error
	n.columns, err = r.columnNames()
	return err
}

// columnDefs reads (name type, ...).
func (r *rewriter) columnDefs(n *note) error {
	if err := r.expectPunct("("); err != nil {
		return err
	}
	if err := r.list(func() error {
		name, ok := r.ident()
		if !ok {
			return r.unexpected()
		}
		typ, err := r.typeName()
		n.columns, n.types = append(n.columns, name), append(n.types, typ)
		return err
	}); err != nil {
		return err
	}
	return r.expectPunct(")")
}

func (r *rewriter) subselect(off int, lateral bool) (string, error) {
	r.take()
	inner, err := r.selectStatement()
	if err != nil {
		return "", err
	}
	if err := r.expectPunct(")"); err != nil {
		return "", err
	}
	n := note{kind: noteSubselect, off: off, lateral: lateral}
	if err := r.alias(&n); err != nil {
		return "", err
	}
	if n.alias == "" {
		return "", syntaxError(off, "subquery in FROM must have an alias").WithHint("For example, FROM (SELECT ...) [AS] foo.")
	}
	return "(" + inner + ") as " + r.name(n), nil
}

// functionTable rewrites a function in FROM as a table name; the call is parsed by itself.
func (r *rewriter) functionTable(lateral bool) (string, error) {
	n := note{kind: noteFuncTable, off: r.peek().Off, lateral: lateral}
	call, err := r.primary()
	if err != nil {
		return "", err
	}
	if n.body, err = r.parse("select " + call.text); err != nil {
		return "", err
	}
	if r.peek().word("with") && r.peekAt(1).word("ordinality") {
		r.i += 2
		n.ordinality = true
	}
	if err := r.alias(&n); err != nil {
		return "", err
	}
	return r.name(n), nil
}

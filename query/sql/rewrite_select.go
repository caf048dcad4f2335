package sql

import (
	"strings"

	"github.com/divandb/divan/query/sqlstate"
)

// reserved are the words that end an expression or a table reference and so cannot be a bare alias (PostgreSQL 15, appendix C:
// reserved words, and those that cannot be a bare label).
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
		current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end
		except false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp
		not null offset on only or order placing primary references returning select session_user some symmetric table then to trailing
		true union unique user using variadic when where window with`) {
		m[w] = true
	}
	return m
}()

// typeFuncWords may be function or type names but not column or table names.
var typeFuncWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join
		left like natural notnull outer overlaps right similar tablesample verbose`) {
		m[w] = true
	}
	return m
}()

// notBareLabel may not be an alias without AS.
var notBareLabel = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`array as char character create day except fetch filter for from grant group having hour intersect into
		isnull limit minute month notnull offset on order over overlaps precision returning second to union varying where window with within
		without year`) {
		m[w] = true
	}
	return m
}()

// ident reads a name of a column, table or alias.
func (r *rewriter) ident() (string, bool) {
	t := r.peek()
	if t.Kind == tQuoted || t.Kind == tIdent && !reserved[t.Text] && !typeFuncWords[t.Text] {
		r.i++
		return t.Text, true
	}
	return "", false
}

// label reads a name after AS or a point, where every word is allowed.
func (r *rewriter) label() (string, error) {
	t := r.peek()
	if t.Kind == tQuoted || t.Kind == tIdent {
		r.i++
		return t.Text, nil
	}
	return "", r.unexpected()
}

// queryIn says that the bracket at the current token holds a query rather than an expression or a join: "((SELECT 1) UNION SELECT 2)"
// does, "((SELECT 1) + 1)" and "((SELECT 1) t JOIN u ON true)" do not.
func (r *rewriter) queryIn() bool { return r.queryAt(r.i+1, 0) }

func (r *rewriter) queryAt(i, depth int) bool {
	t := r.toks[i]
	switch {
	case t.words("select", "with", "table"):
		return true
	case t.word("values"):
		return r.toks[i+1].is("(")
	case !t.is("(") || depth > maxDepth || r.close(i) < 0:
		return false
	}
	after := r.toks[r.close(i)+1]
	return (after.is(")") || after.words("union", "intersect", "except", "order", "limit", "offset", "fetch")) && r.queryAt(i+1, depth+1)
}

// close is the index of the bracket that closes the one at token i, negative for none.
func (r *rewriter) close(i int) int {
	if r.closing == nil {
		r.closing = make([]int, len(r.toks))
		var open []int
		for j, t := range r.toks {
			r.closing[j] = -1
			switch {
			case t.is("("):
				open = append(open, j)
			case t.is(")") && len(open) > 0:
				r.closing[open[len(open)-1]] = j
				open = open[:len(open)-1]
			}
		}
	}
	return r.closing[i]
}

// selectStatement rewrites a query: [WITH] cores joined by UNION [ORDER BY] [LIMIT] [OFFSET].
func (r *rewriter) selectStatement() (string, error) {
	if err := r.enter(); err != nil {
		return "", err
	}
	defer r.leave()
	head := note{kind: noteSelect, off: r.peek().Off}
	if r.peek().word("with") {
		if err := r.with(&head); err != nil {
			return "", err
		}
	}
	text, err := r.core(&head)
	if err != nil {
		return "", err
	}
	for n := 0; r.peek().words("union", "intersect", "except"); n++ {
		if err := r.wrapped(n); err != nil {
			return "", err
		}
		t := r.take()
		if t.Text != "union" {
			return "", sqlstate.Unsupported(t.Off, "Use UNION, or a condition.", "%s is not supported", strings.ToUpper(t.Text))
		}
		op := " union "
		if r.acceptWord("all") {
			op = " union all "
		} else {
			r.acceptWord("distinct")
		}
		right, err := r.core(nil)
		if err != nil {
			return "", err
		}
		text += op + right
	}
	tail, err := r.tail()
	return text + tail, err
}

// core rewrites one SELECT, a query in brackets, VALUES or TABLE. head is the note that carries a WITH, or nil.
func (r *rewriter) core(head *note) (string, error) {
	if head == nil {
		head = &note{kind: noteSelect, off: r.peek().Off}
	}
	t := r.peek()
	switch {
	case t.is("("):
		if len(head.ctes) > 0 {
			return "", sqlstate.Unsupported(t.Off, "Leave out the brackets.", "WITH before a query in brackets is not supported")
		}
		r.take()
		inner, err := r.selectStatement()
		if err != nil {
			return "", err
		}
		if err := r.expectPunct(")"); err != nil {
			return "", err
		}
		if !r.peek().words("union", "intersect", "except", "order", "limit", "offset", "fetch") {
			return inner, nil
		}
		if r.peek().words("union", "intersect", "except") {
			return "(" + inner + ")", nil
		}
		// (SELECT ...) ORDER BY ...: a query over the one in brackets.
		table := r.name(note{kind: noteSubselect, off: t.Off, alias: "*SELECT*"})
		return "select /*" + r.add(*head) + "*/ * from (" + inner + ") as " + table, nil
	case t.word("select"):
		return r.selectCore(head)
	case t.word("values"):
		return r.values(head)
	case t.word("table"):
		r.take()
		table, err := r.tableName()
		return "select /*" + r.add(*head) + "*/ * from " + table, err
	}
	return "", r.unexpected()
}

func (r *rewriter) selectCore(head *note) (string, error) {
	r.take()
	distinct := ""
	var targets []string
	if r.acceptWord("distinct") {
		if r.acceptWord("on") {
			list, err := r.bracketList()
			if err != nil {
				return "", err
			}
			head.distinctOn, targets = len(list), list
		} else {
			distinct = "distinct "
		}
	} else {
		r.acceptWord("all")
	}
	if t := r.peek(); t.Kind == tEOF || t.is(")") || t.words("from", "where", "union", "order", "limit") {
		targets = append(targets, r.call(note{kind: noteEmpty, off: t.Off}))
	} else if err := r.list(func() error {
		text, err := r.target()
		targets = append(targets, text)
		return err
	}); err != nil {
		return "", err
	}
	if t := r.peek(); t.word("into") {
		return "", sqlstate.Unsupported(t.Off, "Write documents over the HTTP API.", "SELECT INTO is not supported")
	}
	text := "select /*" + r.add(*head) + "*/ " + distinct + strings.Join(targets, ", ")
	for _, clause := range []func() (string, error){r.from, r.where, r.groupBy, r.having} {
		part, err := clause()
		if err != nil {
			return "", err
		}
		text += part
	}
	if t := r.peek(); t.word("window") {
		return "", sqlstate.Unsupported(t.Off, "Write the window in the OVER clause.", "the WINDOW clause is not supported")
	}
	return text, nil
}

// list reads one or more items with commas between them.
func (r *rewriter) list(item func() error) error {
	for {
		if err := item(); err != nil {
			return err
		}
		if !r.acceptPunct(",") {
			return nil
		}
	}
}

// exprList reads expressions with commas between them.
func (r *rewriter) exprList() ([]string, error) {
	var out []string
	err := r.list(func() error {
		e, err := r.expression()
		out = append(out, e)
		return err
	})
	return out, err
}

// bracketList reads (expression, ...).
func (r *rewriter) bracketList() ([]string, error) {
	if err := r.expectPunct("("); err != nil {
		return nil, err
	}
	list, err := r.exprList()
	if err != nil {
		return nil, err
	}
	return list, r.expectPunct(")")
}

func (r *rewriter) target() (string, error) {
	if r.peek().op("*") {
		r.take()
		return "*", nil
	}
	e, err := r.expression()
	if err != nil {
		return "", err
	}
	t := r.peek()
	var alias string
	switch {
	case r.acceptWord("as"):
		if alias, err = r.label(); err != nil {
			return "", err
		}
	case t.Kind == tQuoted, t.Kind == tIdent && !reserved[t.Text] && !notBareLabel[t.Text]:
		r.take()
		alias = t.Text
	default:
		return e, nil
	}
	return e + " as " + r.name(note{kind: noteAlias, off: t.Off, alias: alias}), nil
}

func (r *rewriter) where() (string, error) {
	if !r.acceptWord("where") {
		return "", nil
	}
	e, err := r.expression()
	return " where " + e, err
}

func (r *rewriter) groupBy() (string, error) {
	if !r.acceptWord("group") {
		return "", nil
	}
	if err := r.expectWord("by"); err != nil {
		return "", err
	}
	if t := r.peek(); t.words("grouping", "rollup", "cube") || t.is("(") && r.peekAt(1).is(")") {
		return "", sqlstate.Unsupported(t.Off, "Group by plain expressions.", "grouping sets are not supported")
	}
	list, err := r.exprList()
	return " group by " + strings.Join(list, ", "), err
}

func (r *rewriter) having() (string, error) {
	if !r.acceptWord("having") {
		return "", nil
	}
	e, err := r.expression()
	return " having " + e, err
}

// orderList reads the items of ORDER BY. spec says for each how it sorts.
func (r *rewriter) orderList() (items []string, specs []orderSpec, err error) {
	err = r.list(func() error {
		e, err := r.expression()
		if err != nil {
			return err
		}
		var s orderSpec
		switch t := r.peek(); {
		case r.acceptWord("asc"):
		case r.acceptWord("desc"):
			s.desc = true
		case r.acceptWord("using"):
			op := r.take()
			if !op.op("<") && !op.op(">") {
				return sqlstate.Unsupported(t.Off, "Use ASC or DESC.", "ORDER BY USING is not supported for this operator")
			}
			s.desc = op.op(">")
		}
		s.nullsFirst = s.desc
		if r.acceptWord("nulls") {
			switch {
			case r.acceptWord("first"):
				s.nullsFirst = true
			case r.acceptWord("last"):
				s.nullsFirst = false
			default:
				return r.unexpected()
			}
		}
		items, specs = append(items, e), append(specs, s)
		return nil
	})
	return items, specs, err
}

// tail rewrites ORDER BY, LIMIT, OFFSET and FETCH FIRST in any order, and refuses row locks.
func (r *rewriter) tail() (string, error) {
	order, limit, offset := "", "", ""
	for {
		t := r.peek()
		switch {
		case order == "" && r.acceptWord("order"):
			if err := r.expectWord("by"); err != nil {
				return "", err
			}
			items, specs, err := r.orderList()
			if err != nil {
				return "", err
			}
			for i, s := range specs {
				if s.nullsFirst != s.desc {
					items[i] = r.call(note{kind: noteOrder, off: t.Off, orderSpecs: specs[i : i+1]}, items[i])
				}
				if s.desc {
					items[i] += " desc"
				}
			}
			order = " order by " + strings.Join(items, ", ")
		case limit == "" && r.acceptWord("limit"):
			if r.peek().words("all", "null") {
				r.take()
				limit = r.call(note{kind: noteAll, off: t.Off})
				continue
			}
			var err error
			if limit, err = r.expression(); err != nil {
				return "", err
			}
		case limit == "" && t.word("fetch"):
			var err error
			if limit, err = r.fetchFirst(); err != nil {
				return "", err
			}
		case offset == "" && r.acceptWord("offset"):
			var err error
			if offset, err = r.expression(); err != nil {
				return "", err
			}
			if !r.acceptWord("rows") {
				r.acceptWord("row")
			}
		case t.word("for"):
			return "", sqlstate.Unsupported(t.Off, "Documents are not locked; a write checks the revision.", "row locks are not supported")
		default:
			switch {
			case limit == "" && offset == "":
				return order, nil
			case limit == "":
				limit = r.call(note{kind: noteAll, off: t.Off})
			}
			if offset != "" {
				offset = " offset " + offset
			}
			return order + " limit " + limit + offset, nil
		}
	}
}

// fetchFirst reads FETCH FIRST|NEXT [n] ROW|ROWS ONLY.
func (r *rewriter) fetchFirst() (string, error) {
	t := r.take()
	if !r.acceptWord("first") && !r.acceptWord("next") {
		return "", r.unexpected()
	}
	limit := r.constant(constant{off: t.Off, tok: tInteger, text: "1"})
	if !r.peek().words("row", "rows") {
		var err error
		if limit, err = r.binary(precAdd); err != nil {
			return "", err
		}
	}
	if !r.acceptWord("rows") && !r.acceptWord("row") {
		return "", r.unexpected()
	}
	if t := r.peek(); t.word("with") {
		return "", sqlstate.Unsupported(t.Off, "Use ONLY.", "FETCH FIRST WITH TIES is not supported")
	}
	return limit, r.expectWord("only")
}

// values rewrites VALUES (...), (...) as a select list of rows, which the decoder unfolds again.
func (r *rewriter) values(head *note) (string, error) {
	r.take()
	head.values = true
	var rows []string
	width := -1
	err := r.list(func() error {
		t := r.peek()
		list, err := r.bracketList()
		if err != nil {
			return err
		}
		if width >= 0 && width != len(list) {
			return syntaxError(t.Off, "VALUES lists must all be the same length")
		}
		width = len(list)
		rows = append(rows, r.call(note{kind: noteRow, off: t.Off}, list...))
		return nil
	})
	return "select /*" + r.add(*head) + "*/ " + strings.Join(rows, ", "), err
}

// with reads the common table expressions; each is parsed by itself.
func (r *rewriter) with(head *note) error {
	r.take()
	head.recursive = r.acceptWord("recursive")
	return r.list(func() error {
		t := r.peek()
		name, ok := r.ident()
		if !ok {
			return r.unexpected()
		}
		columns, err := r.columnNames()
		if err != nil {
			return err
		}
		if err := r.expectWord("as"); err != nil {
			return err
		}
		materialize := ""
		if r.acceptWord("not") {
			materialize, err = "never", r.expectWord("materialized")
		} else if r.acceptWord("materialized") {
			materialize = "always"
		}
		if err != nil {
			return err
		}
		if err := r.expectPunct("("); err != nil {
			return err
		}
		text, err := r.selectStatement()
		if err != nil {
			return err
		}
		if err := r.expectPunct(")"); err != nil {
			return err
		}
		sel, err := r.parse(text)
		if err != nil {
			return err
		}
		head.ctes = append(head.ctes, cte{at: at(t.Off), name: name, columns: columns, sel: sel, materialize: materialize})
		return nil
	})
}

// columnNames reads (a, b, ...) where it stands.
func (r *rewriter) columnNames() ([]string, error) {
	if !r.acceptPunct("(") {
		return nil, nil
	}
	var names []string
	err := r.list(func() error {
		n, ok := r.ident()
		if !ok {
			return r.unexpected()
		}
		names = append(names, n)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return names, r.expectPunct(")")
}

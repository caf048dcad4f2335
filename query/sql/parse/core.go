package parse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xwb1989/sqlparser"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sqlstate"
)

// The library does only this: it reads which clauses a SELECT has, in which order, checks that none lacks its operand,
// and how tables are joined. It is given a skeleton of the SELECT in which each expression is :v1 and each table is "t
// as t1". The number identifies the expression or table that was parsed here. So no quoting rule, key word or operator
// of MySQL can change the meaning, and the position of each word of the skeleton in the text is known.

// skeleton is a SELECT as given to the library.
type skeleton struct {
	p    *parser
	text strings.Builder
	// words records where each word begins in text and which token it represents.
	words []skeletonWord

	exprs   []ast.Expr
	targets map[int]ast.Target // items of the select list, by the number of their expression
	joins   []joinWords        // by the number of the table
	// clause is the clause being read. operand reports whether the next token follows a comma or a key word and must
	// begin an operand.
	clause  clause
	operand bool
	// open counts the joins that still lack a condition.
	open int
	next joinWords
	from bool // the SELECT has a FROM
	// only is set for a list of tables without the other clauses, single for one table with its joins.
	only, single bool
}

type skeletonWord struct {
	start, token int
}

// joinWords is a table and the words of the join before it.
type joinWords struct {
	item    ast.FromItem
	kind    ast.JoinKind
	natural bool
	at      ast.At
}

// using is a USING list in place of a join condition.
type using struct {
	ast.At
	columns []string
	alias   string
}

type clause uint8

const (
	selectList clause = iota
	tableList
	condition
	groupList
)

// word consumes n tokens and appends one word for them.
func (s *skeleton) word(text string, n int) {
	s.write(text)
	s.p.i += n
	s.operand = true
}

func (s *skeleton) write(text string) {
	s.words = append(s.words, skeletonWord{s.text.Len(), s.p.i})
	s.text.WriteString(text)
	s.text.WriteByte(' ')
}

// core reads SELECT ... [FROM ...] [WHERE ...] [GROUP BY ...] [HAVING ...] [WINDOW ...].
func (p *parser) core() (*ast.Select, error) {
	out := &ast.Select{At: p.here()}
	s := &skeleton{p: p, targets: map[int]ast.Target{}}
	s.word("select", 1)
	if err := s.distinct(out); err != nil {
		return nil, err
	}
	if err := s.read(out); err != nil {
		return nil, err
	}
	tree, err := s.parse()
	if err != nil {
		return nil, err
	}
	if err := s.build(out, tree); err != nil {
		return nil, err
	}
	return out, p.windows(out)
}

// distinct reads DISTINCT, DISTINCT ON (...) and ALL, and accepts an empty select list.
func (s *skeleton) distinct(out *ast.Select) error {
	p := s.p
	switch {
	case p.peek().Word("distinct") && p.peekAt(1).Word("on"):
		p.i += 2
		var err error
		out.DistinctOn, err = p.bracketList()
		return err
	case p.peek().Word("distinct"):
		out.Distinct = true
		s.word("distinct", 1)
		return nil
	}
	p.acceptWord("all")
	t := p.peek()
	if t.Kind == lex.EOF || t.Is(")") || t.Is(";") ||
		t.Words("from", "where", "group", "having", "window", "union", "intersect", "except", "order",
			"limit", "offset", "fetch", "for", "into") {
		s.placeholder(nil)
	}
	return nil
}

// placeholder appends the placeholder of an expression; nil represents an empty select list.
func (s *skeleton) placeholder(e ast.Expr) {
	s.exprs = append(s.exprs, e)
	s.write(":v" + strconv.Itoa(len(s.exprs)-1))
	s.operand = false
}

// read copies key words and commas and replaces the operands between them by placeholders, up to a token that cannot
// continue the SELECT.
func (s *skeleton) read(out *ast.Select) error {
	for {
		before := s.p.i
		more, err := s.step(out)
		if err != nil {
			return s.first(err, before)
		}
		if !more {
			return nil
		}
	}
}

// first returns the error that comes first in the text: err, that of an operand, or one that the library finds before
// that operand.
func (s *skeleton) first(err error, before int) error {
	var e, earlier *sqlstate.Error
	_, structure := s.parse()
	if errors.As(err, &e) && errors.As(structure, &earlier) && earlier.Pos > 0 && before < len(s.p.toks) &&
		earlier.Pos-1 < s.p.toks[before].Off {
		return structure
	}
	return err
}

// step reads one key word, comma or operand.
func (s *skeleton) step(out *ast.Select) (more bool, err error) {
	p := s.p
	t := p.peek()
	switch {
	case t.Words("from", "where", "group", "having") && s.only:
		return false, nil
	case t.Words("where", "having"):
		s.clause = condition
		s.word(t.Text, 1)
	case t.Word("from"):
		s.clause, s.from = tableList, true
		s.word("from", 1)
	case t.Word("group"):
		s.clause = groupList
		s.word("group", 1)
		if p.peek().Word("by") {
			s.word("by", 1)
			if p.acceptWord("distinct") {
				out.GroupDistinct = true
			} else {
				p.acceptWord("all")
			}
		}
	case t.Is(",") && s.clause != condition && !s.single:
		s.word(",", 1)
	case t.Word("into") && s.clause == selectList && !s.operand:
		return true, s.into(out)
	case s.clause == tableList && !s.operand && t.Words("join", "natural", "left", "right", "full", "inner", "cross"):
		return true, s.join()
	case s.open > 0 && !s.operand && t.Words("on", "using"):
		return true, s.joinCondition()
	case !s.operand || ends(t):
		return false, nil
	default:
		return true, s.readOperand()
	}
	return true, nil
}

// ends reports whether t cannot begin an operand and can follow a SELECT.
func ends(t lex.Token) bool {
	return t.Kind == lex.EOF || t.Is(")") || t.Is(";") ||
		t.Words("union", "intersect", "except", "order", "limit", "offset", "fetch", "for", "window",
			"into", "on", "using", "returning")
}

// join copies the words of a join.
func (s *skeleton) join() error {
	p, i := s.p, 0
	j := joinWords{kind: ast.Inner, at: p.here()}
	if j.natural = p.peek().Word("natural"); j.natural {
		i++
	}
	switch t := p.peekAt(i); {
	case t.Words("left", "right", "full"):
		j.kind = ast.JoinKind(t.Text)
		if i++; p.peekAt(i).Word("outer") {
			i++
		}
	case t.Word("inner"):
		i++
	case t.Word("cross") && !j.natural:
		j.kind = ast.Cross
		i++
	}
	if t := p.peekAt(i); !t.Word("join") {
		return p.unexpectedAt(t)
	}
	s.next = j
	// The library has no FULL JOIN and accepts an inner join without a condition. So every join with a condition is
	// written as LEFT JOIN and every other one as NATURAL JOIN.
	if j.natural || j.kind == ast.Cross {
		s.word("natural join", i+1)
	} else {
		s.open++
		s.word("left join", i+1)
	}
	return nil
}

// joinCondition reads ON condition or USING (columns) [AS alias].
func (s *skeleton) joinCondition() error {
	p := s.p
	t := p.peek()
	s.word("on", 1)
	s.open--
	if t.Word("on") {
		e, err := p.expr()
		if err == nil {
			s.placeholder(e)
		}
		return err
	}
	u := &using{At: ast.At(t.Off)}
	if err := p.inBrackets(func() (err error) {
		u.columns, err = p.names()
		return err
	}); err != nil {
		return err
	}
	if p.acceptWord("as") {
		var err error
		if u.alias, err = p.name(); err != nil {
			return err
		}
	}
	s.placeholder(u)
	return nil
}

// readOperand reads an item of the current clause.
func (s *skeleton) readOperand() error {
	p := s.p
	i := p.i
	var e ast.Expr
	var err error
	switch s.clause {
	case selectList:
		var t ast.Target
		t, err = p.target()
		e = t.Expr
		s.targets[len(s.exprs)] = t
	case tableList:
		next := s.next
		s.next = joinWords{}
		if next.item, err = p.tablePrimary(); err != nil {
			return err
		}
		s.joins = append(s.joins, next)
		end := p.i
		p.i = i
		s.write("t as t" + strconv.Itoa(len(s.joins)-1))
		p.i, s.operand = end, false
		return nil
	case groupList:
		e, err = p.groupItem()
	default:
		e, err = p.expr()
	}
	if err != nil {
		return err
	}
	end := p.i
	p.i = i
	s.placeholder(e)
	p.i = end
	return nil
}

// parse runs the library over the skeleton.
func (s *skeleton) parse() (*sqlparser.Select, error) {
	text := s.text.String()
	tree, err := sqlparser.Parse(text)
	if sel, ok := tree.(*sqlparser.Select); ok && err == nil {
		return sel, nil
	}
	// The library has read one character past the word that it did not expect.
	pos := len(text) + 1
	if err != nil {
		if _, after, ok := strings.Cut(err.Error(), "at position "); ok {
			if _, e := fmt.Sscanf(after, "%d", &pos); e != nil {
				pos = len(text) + 1
			}
		}
	}
	at := s.p.i
	for i := len(s.words) - 1; i >= 0 && pos <= len(text); i-- {
		if s.words[i].start < pos-1 {
			at = s.words[i].token
			break
		}
	}
	return nil, s.p.unexpectedAt(s.p.toks[at])
}

// build fills in the clauses of out from the library's tree.
func (s *skeleton) build(out *ast.Select, tree *sqlparser.Select) (err error) {
	for _, e := range tree.SelectExprs {
		a, ok := e.(*sqlparser.AliasedExpr)
		if !ok {
			return errSkeleton
		}
		n, err := s.number(a.Expr)
		if err != nil {
			return err
		}
		if t, ok := s.targets[n]; ok {
			out.Targets = append(out.Targets, t)
		}
	}
	if s.from {
		for _, t := range tree.From {
			item, err := s.table(t)
			if err != nil {
				return err
			}
			out.From = append(out.From, item)
		}
	}
	if tree.Where != nil {
		if out.Where, err = s.expr(tree.Where.Expr); err != nil {
			return err
		}
	}
	for _, e := range tree.GroupBy {
		x, err := s.expr(e)
		if err != nil {
			return err
		}
		out.GroupBy = append(out.GroupBy, x)
	}
	if tree.Having != nil {
		out.Having, err = s.expr(tree.Having.Expr)
	}
	return err
}

// errSkeleton is returned for a tree that no skeleton can produce: a bug in this file.
var errSkeleton = sqlstate.New(sqlstate.InternalError, "the structure of the statement was not understood")

// number returns the number of an expression's placeholder.
func (s *skeleton) number(e sqlparser.Expr) (int, error) {
	v, ok := e.(*sqlparser.SQLVal)
	if !ok || v.Type != sqlparser.ValArg {
		return 0, errSkeleton
	}
	n, err := strconv.Atoi(strings.TrimPrefix(string(v.Val), ":v"))
	if err != nil || n < 0 || n >= len(s.exprs) {
		return 0, errSkeleton
	}
	return n, nil
}

func (s *skeleton) expr(e sqlparser.Expr) (ast.Expr, error) {
	n, err := s.number(e)
	if err != nil {
		return nil, err
	}
	return s.exprs[n], nil
}

// table returns the item of FROM that the library's tree describes.
func (s *skeleton) table(t sqlparser.TableExpr) (ast.FromItem, error) {
	switch t := t.(type) {
	case *sqlparser.AliasedTableExpr:
		j, err := s.tableOf(t)
		if err != nil {
			return nil, err
		}
		return j.item, nil
	case *sqlparser.JoinTableExpr:
		return s.joinTree(t)
	}
	return nil, errSkeleton
}

// tableOf finds a table and the words of the join before it.
func (s *skeleton) tableOf(t *sqlparser.AliasedTableExpr) (*joinWords, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(t.As.String(), "t"))
	if err != nil || n < 0 || n >= len(s.joins) {
		return nil, errSkeleton
	}
	return &s.joins[n], nil
}

func (s *skeleton) joinTree(t *sqlparser.JoinTableExpr) (ast.FromItem, error) {
	if err := s.p.enter(); err != nil {
		return nil, err
	}
	defer s.p.leave()
	left, err := s.table(t.LeftExpr)
	if err != nil {
		return nil, err
	}
	right, err := s.table(t.RightExpr)
	if err != nil {
		return nil, err
	}
	// The words of a join come before the first table of its right side.
	first := t.RightExpr
	for {
		j, ok := first.(*sqlparser.JoinTableExpr)
		if !ok {
			break
		}
		first = j.LeftExpr
	}
	leaf, ok := first.(*sqlparser.AliasedTableExpr)
	if !ok {
		return nil, errSkeleton
	}
	words, err := s.tableOf(leaf)
	if err != nil {
		return nil, err
	}
	j := &ast.Join{At: words.at, Kind: words.kind, Natural: words.natural, Left: left, Right: right}
	if t.Condition.On == nil {
		return j, nil
	}
	on, err := s.expr(t.Condition.On)
	if u, ok := on.(*using); ok {
		j.Using, j.UsingAlias = u.columns, u.alias
	} else {
		j.On = on
	}
	return j, err
}

// Package declare reads the relations that design documents declare in their member "sql": typed columns over the
// documents that satisfy a condition. Package bind binds them as queries over docs, and package catalog lists them.
package declare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sql/lex"
	"github.com/divandb/divan/query/sql/parse"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
	"github.com/divandb/divan/query/work"
)

// Relation is a declared relation. Its columns are id, rev, those that are declared, and doc.
type Relation struct {
	Name    string
	Comment string
	Columns []Column
	// Query is the query over docs that it stands for. It is nil if the declaration is wrong; Err says why.
	Query *ast.Select
	Err   error
	// Text is the declaration.
	Text string
}

// Column is a column of a declared relation.
type Column struct {
	Name string
	Type types.OID
	Mod  int32
}

// Limits of a declaration.
const (
	maxRelations = 1000
	maxColumns   = 1000
)

// Relations returns the relations that a member "sql" declares, in its order. text is valid JSON, or "" for none. What
// is wrong with a declaration is an error of that relation alone; a member that is no object declares nothing.
func Relations(ctx context.Context, text string) (list []*Relation) {
	if text == "" || types.JSONKindOf(text) != types.JSONObject {
		return nil
	}
	w := work.New(ctx, nil, 0, nil)
	defer w.Close()
	types.JSONMembers(text, func(k, v string) bool {
		name := types.JSONUnquote(k)
		list = slices.DeleteFunc(list, func(r *Relation) bool { return r.Name == name })
		r := &Relation{Name: name, Text: v}
		if r.Err = r.read(w, v); r.Err != nil {
			r.Query, r.Columns = nil, nil
		}
		list = append(list, r)
		return len(list) < maxRelations
	})
	return list
}

// Find returns the relation of a name; nil if there is none.
func Find(ctx context.Context, text, name string) *Relation {
	for _, r := range Relations(ctx, text) {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Same reports whether two relations, or none, have the same declaration.
func (r *Relation) Same(as *Relation) bool {
	return r == nil && as == nil || r != nil && as != nil && r.Text == as.Text
}

// Wrong returns the error of a statement that uses the relation of a design document at a position, although its
// declaration cannot be used because of err. An error about the statement's limits stays as it is.
func (r *Relation) Wrong(err error, design string, off int) error {
	var e *sqlstate.Error
	if errors.As(err, &e) && slices.Contains([]sqlstate.Code{sqlstate.StatementTooComplex, sqlstate.QueryCanceled,
		sqlstate.OutOfMemory, sqlstate.ProgramLimitExceeded}, e.Code) {
		return err
	}
	return sqlstate.New(sqlstate.InvalidObjectDefinition, `the declaration of relation "%s" is wrong: %s`,
		design+"."+r.Name, Message(err)).At(off).
		WithHint("It is the member sql.%s of the design document _design/%s.", r.Name, design)
}

// read reads one declaration: {"where": ..., "columns": {...}, "comment": ...}.
func (r *Relation) read(w *work.Work, text string) error {
	if types.JSONKindOf(text) != types.JSONObject {
		return fmt.Errorf("a relation must be an object with the member \"columns\"")
	}
	columns := ""
	r.Query = &ast.Select{From: []ast.FromItem{&ast.Table{Name: []string{"public", "docs"}}}}
	err := eachMember(text, func(name, v string) (err error) {
		switch name {
		case "where":
			if r.Query.Where, err = condition(w, v); err != nil {
				err = fmt.Errorf("\"where\": %s", Message(err))
			}
		case "columns":
			columns = v
		case "comment":
			r.Comment, err = stringOf(name, v)
		default:
			err = fmt.Errorf(`unknown member "%s"`, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if types.JSONKindOf(columns) != types.JSONObject {
		return fmt.Errorf("\"columns\" must be an object")
	}
	r.add("id", types.Text, -1, column("id"))
	r.add("rev", types.Text, -1, column("rev"))
	err = eachMember(columns, func(name, v string) error {
		c, err := readColumn(name, v)
		if err != nil {
			return fmt.Errorf(`column "%s": %w`, name, err)
		}
		if slices.ContainsFunc(r.Columns, func(o Column) bool { return o.Name == name }) || name == "doc" {
			return fmt.Errorf(`column "%s": every relation has id, rev and doc, and a name cannot be used twice`, name)
		}
		if len(r.Columns) > maxColumns {
			return fmt.Errorf("a relation has at most %d columns", maxColumns)
		}
		expr, typ, mod, err := c.expr(w)
		if err != nil {
			return fmt.Errorf(`column "%s": %s`, name, Message(err))
		}
		r.add(name, typ, mod, expr)
		return nil
	})
	r.add("doc", types.JSONB, -1, column("doc"))
	return err
}

// Message returns the message of an error without its code and its position, which is not one in the statement.
func Message(err error) string {
	var e *sqlstate.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

func (r *Relation) add(name string, typ types.OID, mod int32, e ast.Expr) {
	r.Columns = append(r.Columns, Column{name, typ, mod})
	r.Query.Targets = append(r.Query.Targets, ast.Target{Expr: e, Alias: name})
}

func column(name string) ast.Expr { return &ast.Column{Parts: []string{name}} }

// eachMember calls f for the members of an object until it fails.
func eachMember(object string, f func(name, value string) error) (err error) {
	types.JSONMembers(object, func(k, v string) bool {
		err = f(types.JSONUnquote(k), v)
		return err == nil
	})
	return err
}

func stringOf(name, v string) (string, error) {
	if types.JSONKindOf(v) != types.JSONString {
		return "", fmt.Errorf(`"%s" must be a string`, name)
	}
	return types.JSONUnquote(strings.TrimSpace(v)), nil
}

// condition reads "where": a condition in SQL, or an object of members and the values that they must have.
func condition(w *work.Work, v string) (ast.Expr, error) {
	switch types.JSONKindOf(v) {
	case types.JSONString:
		return expression(w, types.JSONUnquote(strings.TrimSpace(v)))
	case types.JSONObject:
		var parts []string
		err := eachMember(v, func(name, value string) error {
			path, err := splitPath(name)
			switch kind := types.JSONKindOf(value); {
			case err != nil:
				return err
			case strings.HasPrefix(name, "$"), kind == types.JSONObject, kind == types.JSONList:
				return fmt.Errorf("the object may have only members with scalars; write other conditions in SQL")
			}
			parts = append(parts, "doc #> "+pathArray(path)+" = "+quote(strings.TrimSpace(value))+"::jsonb")
			return nil
		})
		if err != nil || parts == nil {
			return nil, err
		}
		return expression(w, strings.Join(parts, " AND "))
	}
	return nil, fmt.Errorf("it must be a condition in SQL, or an object of members and their values")
}

// expression parses a single expression.
func expression(w *work.Work, text string) (ast.Expr, error) {
	st, err := parse.Statement(w, "SELECT "+text+"\n")
	if err != nil {
		return nil, err
	}
	tokens, _, err := lex.Tokens(w, text)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tokens, func(t lex.Token) bool { return t.Kind == lex.Param }) {
		return nil, fmt.Errorf("it has a parameter")
	}
	q, ok := st.(*ast.Query)
	if !ok {
		return nil, fmt.Errorf(`"%s" is not an expression`, text)
	}
	s := q.Select
	if len(s.Targets) != 1 || s.Targets[0].Alias != "" || s.From != nil || s.Where != nil || s.Op != "" ||
		s.Values != nil || s.With != nil || s.GroupBy != nil || s.Having != nil || s.OrderBy != nil ||
		s.Limit != nil || s.Offset != nil ||
		s.Into != nil || s.Distinct || s.DistinctOn != nil || s.Windows != nil || s.Locks != nil {
		return nil, fmt.Errorf(`"%s" is not an expression`, text)
	}
	return s.Targets[0].Expr, nil
}

// declared is the declaration of a column.
type declared struct {
	path []string
	typ  string
	fail bool
}

// readColumn reads "type" or {"type": ..., "path": ..., "on_error": ...}.
func readColumn(name, v string) (c declared, err error) {
	c.path = []string{name}
	switch types.JSONKindOf(v) {
	case types.JSONString:
		c.typ, err = stringOf(name, v)
		return c, err
	case types.JSONObject:
	default:
		return c, fmt.Errorf("a column must be the name of a type, or an object with the member \"type\"")
	}
	err = eachMember(v, func(member, value string) (err error) {
		switch member {
		case "type":
			c.typ, err = stringOf(member, value)
		case "path":
			c.path, err = readPath(value)
		case "on_error":
			var what string
			if what, err = stringOf(member, value); err == nil && what != "null" && what != "fail" {
				err = fmt.Errorf("\"on_error\" must be \"null\" or \"fail\"")
			}
			c.fail = what == "fail"
		default:
			err = fmt.Errorf(`unknown member "%s"`, member)
		}
		return err
	})
	if err == nil && c.typ == "" {
		err = fmt.Errorf("the member \"type\" is missing")
	}
	return c, err
}

// readPath reads a path: names joined by dots, as in Mango, or an array of names.
func readPath(v string) (path []string, err error) {
	switch types.JSONKindOf(v) {
	case types.JSONString:
		return splitPath(types.JSONUnquote(strings.TrimSpace(v)))
	case types.JSONList:
		types.JSONElements(v, func(e string) bool {
			var name string
			name, err = stringOf("path", e)
			path = append(path, name)
			return err == nil
		})
		if err == nil && path != nil {
			return path, nil
		}
	}
	return nil, fmt.Errorf("\"path\" must be names joined by dots, or an array of names")
}

// splitPath splits names joined by dots. A backslash takes the next character as it is.
func splitPath(text string) ([]string, error) {
	path := []string{""}
	for i := 0; i < len(text); i++ {
		switch last := len(path) - 1; {
		case text[i] == '\\' && i+1 < len(text):
			i++
			path[last] += text[i : i+1]
		case text[i] == '.':
			path = append(path, "")
		default:
			path[last] += text[i : i+1]
		}
	}
	if slices.Contains(path, "") {
		return nil, fmt.Errorf(`a path has an empty name: "%s"`, text)
	}
	return path, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// pathArray returns a path as an array of texts in SQL.
func pathArray(path []string) string {
	items := make([]string, len(path))
	for i, name := range path {
		items[i] = quote(name)
	}
	return "ARRAY[" + strings.Join(items, ", ") + "]"
}

// pseudo is the category of types that no value of a table has, such as record.
const pseudo = 'P'

// expr returns the expression of a column, and its type.
func (c *declared) expr(w *work.Work) (e ast.Expr, typ types.OID, mod int32, err error) {
	for _, name := range c.path {
		if strings.ContainsRune(name, 0) {
			return nil, 0, 0, sqlstate.New(sqlstate.InvalidTextRepresentation, "a name has a zero byte")
		}
	}
	member := "doc #>> " + pathArray(c.path)
	e, err = expression(w, "CAST("+member+" AS "+c.typ+"\n)")
	cast, ok := e.(*ast.Cast)
	switch {
	case err != nil:
		return nil, 0, 0, err
	case !ok || cast.Type.SetOf:
		return nil, 0, 0, fmt.Errorf(`"%s" is not a type`, c.typ)
	}
	typ, mod, err = typing.ResolveType(cast.Type)
	if err != nil {
		return nil, 0, 0, err
	}
	info := types.Lookup(typ)
	if types.CastContext(types.Text, typ) == types.NoCast || info == nil || info.Category == pseudo ||
		typ == types.Unknown {
		return nil, 0, 0, fmt.Errorf("a column cannot have the type %s", types.NameOf(typ))
	}
	if typ == types.JSONB && mod < 0 {
		e, err = expression(w, "doc #> "+pathArray(c.path))
		return e, typ, mod, err
	}
	if types.ElemOf(typ) != 0 {
		if cast.X, err = expression(w, "doc #> "+pathArray(c.path)); err != nil {
			return nil, 0, 0, err
		}
		cast.Lists = true
	}
	cast.Try = !c.fail
	return cast, typ, mod, nil
}

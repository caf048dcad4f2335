package bind

import (
	"errors"
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// operator binds a prefix or infix operator.
func (b *binder) operator(n *ast.Operator, sc *scope) (exec.Expr, error) {
	if c, ok := n.Args[0].(*ast.Literal); ok && n.Op == "-" && len(n.Args) == 1 &&
		(c.Kind == ast.Integer || c.Kind == ast.Number) {
		// The sign is part of the constant and affects its type.
		text, negative := strings.CutPrefix(c.Text, "-")
		if !negative {
			text = "-" + text
		}
		return b.Literal(&ast.Literal{At: n.At, Kind: c.Kind, Text: text})
	}
	if row, ok := n.Args[0].(*ast.Row); ok && len(n.Args) == 2 {
		if s, ok := n.Args[1].(*ast.Subquery); ok && s.Kind == ast.Scalar {
			return b.rowQuery(n, row, s, sc)
		}
	}
	args, err := b.exprs(n.Args, sc)
	if err != nil {
		return nil, err
	}
	if err := b.operatorSchema(n.Op, n.Pos()); err != nil {
		return nil, err
	}
	return b.Operator(n.Op, args, n.Pos())
}

// operatorSchema checks the schema of OPERATOR(schema.symbol).
func (b *binder) operatorSchema(op string, off int) error {
	if i := strings.LastIndexByte(op, '.'); i >= 0 {
		return b.checkSchema([]string{op[:i], op[i+1:]}, off)
	}
	return nil
}

// checkSchema returns an error if a name has a schema that does not exist. Relations are not checked in this way: an
// unknown one is reported with its schema.
func (b *binder) checkSchema(name []string, off int) error {
	if len(name) < 2 {
		return nil
	}
	schema := name[len(name)-2]
	if schema == "public" || b.r.HasSchema(schema) {
		return nil
	}
	if err := b.find.Open(); err != nil {
		return err
	}
	if b.find.DB != nil {
		if _, err := b.find.DB.Design(b.work.Ctx, schema); err == nil {
			return nil
		} else if exec.KindOf(err) != exec.NotFound {
			return exec.StoreError(err)
		}
	}
	return sqlstate.New(sqlstate.InvalidSchemaName, `schema "%s" does not exist`, schema).At(off)
}

// resolveType returns the type and type modifier of a type name.
func (b *binder) resolveType(n ast.TypeName) (types.OID, int32, error) {
	if err := b.checkSchema(n.Parts, n.Pos()); err != nil {
		return 0, 0, err
	}
	oid, mod, err := typing.ResolveType(n)
	var e *sqlstate.Error
	if errors.As(err, &e) && e.Code == sqlstate.UndefinedObject && len(n.Parts) <= 2 {
		name := n.Parts[len(n.Parts)-1]
		schema := strings.TrimSuffix(strings.Join(n.Parts, "."), name)
		if _, found := b.find.User(strings.TrimSuffix(schema, "."), name, n.Pos()); found == nil {
			err = sqlstate.Unsupported(n.Pos(),
				"List the columns: jsonb_populate_record(null::record, x) AS t(a int, b text).",
				`the row type of relation "%s" is not supported`, name)
		}
	}
	return oid, mod, err
}

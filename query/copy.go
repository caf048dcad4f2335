package query

import (
	"errors"
	"fmt"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// checkEncoding checks the encoding of COPY.
func checkEncoding(c *ast.Copy) error {
	if c.Encoding == "" {
		return nil
	}
	switch e, ok := charset.Find(c.Encoding); {
	case !ok:
		return sqlstate.New(sqlstate.InvalidParameterValue,
			`argument to option "%s" must be a valid encoding name`, "encoding").At(c.EncodingAt.Pos())
	case e == nil:
		return sqlstate.Unsupported(c.EncodingAt.Pos(), "Use UTF8.", `encoding "%s" is not supported`, c.Encoding)
	}
	return nil
}

// checkCopy checks the encoding and the names of columns. err is the error of binding the query.
func checkCopy(c *ast.Copy, bound *bind.Bound, err error) error {
	if err := checkEncoding(c); err != nil {
		return err
	}
	missing := func(message string) string {
		if c.Table == nil {
			return message
		}
		of := fmt.Sprintf(`of relation "%s" does not exist`, c.Table.Name[len(c.Table.Name)-1])
		return strings.Replace(message, "does not exist", of, 1)
	}
	if err != nil {
		var e *sqlstate.Error
		if errors.As(err, &e) && e.Code == sqlstate.UndefinedColumn {
			of := *e
			of.Message, err = missing(e.Message), &of
		}
		return err
	}
	copied := make([]string, len(bound.Columns))
	for i, col := range bound.Columns {
		copied[i] = col.Name
	}
	known := copied
	if c.Table != nil {
		known = bound.Relation()
	}
	return copying.CheckNames(c, copied, known, missing)
}

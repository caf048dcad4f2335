package copying

import (
	"fmt"
	"slices"

	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// CheckNames checks the names of columns in COPY TO, of which copied are sent. FORCE_QUOTE may name the known ones;
// missing completes the message for another.
func CheckNames(c *ast.Copy, copied, known []string, missing func(string) string) error {
	if err := distinct(c.Columns); err != nil {
		return err
	}
	if len(c.ForceQuote) == 1 && c.ForceQuote[0] == "*" {
		return nil
	}
	for _, name := range c.ForceQuote {
		if !slices.Contains(known, name) {
			return sqlstate.New(sqlstate.UndefinedColumn, "%s", missing(fmt.Sprintf(`column "%s" does not exist`,
				name)))
		}
	}
	if err := distinct(c.ForceQuote); err != nil {
		return err
	}
	for _, name := range c.ForceQuote {
		if !slices.Contains(copied, name) {
			return sqlstate.New(sqlstate.InvalidColumnReference, `FORCE_QUOTE column "%s" not referenced by COPY`, name)
		}
	}
	return nil
}

// distinct refuses a column that is named twice.
func distinct(names []string) error {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return sqlstate.New(sqlstate.DuplicateColumn, `column "%s" specified more than once`, name)
		}
	}
	return nil
}

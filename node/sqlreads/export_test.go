package sqlreads

import "context"

// SetRowsOfOne replaces what returns the rows of a database.
func SetRowsOfOne(t *Table, rows func(ctx context.Context, database string, yield func(...any) bool) error) {
	t.rowsOfOne = func(ctx context.Context, db named, yield func(...any) bool) error {
		return rows(ctx, db.name, yield)
	}
}

package sqlreads_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/sqlreads"
)

// namesIn returns the values of a column in rows, each once and in their order, and the error after them.
func namesIn(rows iter.Seq2[[]any, error], column int) (names []string, err error) {
	for row, err := range rows {
		if err != nil {
			return names, err
		}
		if name := row[column].(string); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// The rows of several databases come in the order of the databases. There are none of those that were deleted, or that
// the user may not read.
func TestCatalog_Parts(t *testing.T) {
	s := systemSource(t)
	var all, allowed []string
	for i := range 30 {
		name := fmt.Sprintf("db%02d", 29-i)
		all = append(all, name)
		if i%10 == 4 { // does not exist
			continue
		}
		db := create(t, s, name, viewsOf)
		if i%10 == 7 {
			if err := db.SetSecurity(t.Context(), []byte(`{"members":{"names":["bob"]}}`)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := db.SetSecurity(t.Context(), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, name)
	}
	c := s.Catalog(layer.UserCtx{Name: "anna", Roles: []string{}}, nil)
	for table, column := range map[string]int{"databases": 0, "indexes": 11, "shards": 6, "index_errors": -1} {
		rows := c.Parts(t.Context(), table, all)
		if column < 0 {
			for row, err := range rows {
				t.Errorf("%s: %v, %v", table, row, err)
			}
			continue
		}
		if got, err := namesIn(rows, column); err != nil || !slices.Equal(got, allowed) {
			t.Errorf("%s: %v, %v", table, got, err)
		}
	}
}

// An error comes behind the rows of the databases before it, and does not matter to who needs only those. A database is
// not read long before its turn.
func TestCatalog_Parts_error(t *testing.T) {
	s := systemSource(t)
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("db%02d", i))
		create(t, s, names[i])
	}
	var mu sync.Mutex
	read := 0
	for i := range s.System {
		if s.System[i].Name == "shards" {
			sqlreads.SetRowsOfOne(&s.System[i], func(_ context.Context, name string, yield func(...any) bool) error {
				mu.Lock()
				defer mu.Unlock()
				read++
				if name == names[20] {
					return &layer.Error{Kind: layer.Unavailable, Reason: "damaged"}
				}
				yield("", "", "", true, int64(0), "", name)
				return nil
			})
		}
	}
	c := s.Catalog(root, nil)
	got, err := namesIn(c.Parts(t.Context(), "shards", names), 6)
	if err == nil || !slices.Equal(got, names[:20]) {
		t.Errorf("%v, %v", got, err)
	}
	if read > 20+8 {
		t.Errorf("%d databases were read for the rows of 20", read)
	}
	read = 0
	for row, err := range c.Parts(t.Context(), "shards", names) {
		if err != nil || row[6] != names[0] {
			t.Errorf("%v, %v", row, err)
		}
		break
	}
	if read > 8 {
		t.Errorf("%d databases were read for one row", read)
	}
}

package copying_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

type noLimit struct{}

func (noLimit) Grow(int64) error { return nil }
func (noLimit) Shrink(int64)     {}

// Errors of writing the rows have the line of an id that exists, and say how to write fewer rows at a time.
func TestHeld_Explained(t *testing.T) {
	cols := []copying.Column{{Name: "id", Type: types.Text}}
	right := func([]types.Datum) error { return nil }
	for _, part := range []int{0, 100} {
		o := &ast.Copy{Format: "text", Delimiter: "\t", Null: `\N`}
		h := copying.NewHeld(o, cols, &types.Env{}, noLimit{}, part, right)
		if err := h.Add([]byte("a\nb\nc\nb\nb\n"), true, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		var e *sqlstate.Error
		for id, want := range map[string]string{"a": "COPY docs, line 1", "b": "COPY docs, line 4", "other": ""} {
			if err := h.Explained(sqlstate.DuplicateID(id), 0); !errors.As(err, &e) || e.Context != want {
				t.Errorf("%s: the context is %q, want %q", id, e.Context, want)
			}
		}
		err := h.Explained(sqlstate.New(sqlstate.ProgramLimitExceeded, "too much").WithHint("less"), 0)
		if !errors.As(err, &e) || strings.Contains(e.Hint, copying.PartSetting) != (part == 0) {
			t.Errorf("parts of %d: the hint is %q", part, e.Hint)
		}
		h.Close()
	}
}

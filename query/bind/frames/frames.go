// Package frames binds the frames of windows. The binder gives it what binds their offsets.
package frames

import (
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

var modes = map[string]window.FrameMode{"range": window.RangeFrame, "rows": window.RowsFrame,
	"groups": window.GroupsFrame}
var exclusions = map[string]window.Exclusion{"": window.ExcludeNone, "current row": window.ExcludeRow,
	"group": window.ExcludeGroup, "ties": window.ExcludeTies}

// Binder binds the offsets of a frame.
type Binder struct {
	Open *typing.Open
	// Expr binds an expression of a clause, in which aggregates are forbidden. Place returns the position of a column.
	Expr  func(e ast.Expr, clause string) (exec.Expr, error)
	Place func(*exec.Col) int
}

// Frame binds the frame of a window with the given order (transformWindowDefinitions in parse_clause.c). It returns nil
// if the window has none.
func (b *Binder) Frame(over *ast.Window, order []exec.Expr) (*window.Frame, error) {
	f := over.Frame
	if f == nil {
		return nil, nil
	}
	offsets := f.Start.Offset != nil || f.End.Offset != nil
	switch {
	case f.Mode == "groups" && len(order) == 0:
		return nil, sqlstate.New(sqlstate.WindowingError, "GROUPS mode requires an ORDER BY clause").At(over.Pos())
	case f.Mode == "range" && offsets && len(order) != 1:
		return nil, sqlstate.New(sqlstate.WindowingError,
			"RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(over.Pos())
	}
	out := &window.Frame{Mode: modes[f.Mode], Exclude: exclusions[f.Exclude]}
	var err error
	if out.Start, err = b.bound(f, f.Start, order); err == nil {
		out.End, err = b.bound(f, f.End, order)
	}
	return out, err
}

func (b *Binder) bound(f *ast.Frame, bound ast.Bound, order []exec.Expr) (window.FrameBound, error) {
	out := window.FrameBound{Kind: window.BoundKind(bound.Kind)}
	if bound.Offset == nil {
		return out, nil
	}
	mode := strings.ToUpper(f.Mode)
	e, err := b.Expr(bound.Offset, "window "+mode)
	if err != nil {
		return out, err
	}
	exec.Walk(e, func(x exec.Expr) {
		if c, ok := x.(*exec.Col); ok && c.Depth == 0 && err == nil {
			err = sqlstate.Locate(sqlstate.New(sqlstate.InvalidColumnReference,
				"argument of %s must not contain variables", mode), b.Place(c))
		}
	})
	if err != nil {
		return out, err
	}
	if f.Mode != "range" {
		out.Offset, err = typing.RowsOffset(b.Open, e, mode, ast.Start(bound.Offset))
	} else {
		out.Offset, out.InRange, err = typing.RangeOffset(b.Open, e, order[0].Type(), ast.Start(bound.Offset))
	}
	return out, err
}

package bind

import (
	"strings"

	"github.com/divandb/divan/query/bind/typing"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/window"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

var frameModes = map[string]window.FrameMode{"range": window.RangeFrame, "rows": window.RowsFrame,
	"groups": window.GroupsFrame}
var exclusions = map[string]window.Exclusion{"": window.ExcludeNone, "current row": window.ExcludeRow,
	"group": window.ExcludeGroup, "ties": window.ExcludeTies}

// frame binds the frame of a window whose order has been bound (transformWindowDefinitions in parse_clause.c).
func (b *binder) frame(over *ast.Window, w *window.Call, sc *scope) (*window.Frame, error) {
	f := over.Frame
	if f == nil {
		return nil, nil
	}
	offsets := f.Start.Offset != nil || f.End.Offset != nil
	switch {
	case f.Mode == "groups" && len(w.Order) == 0:
		return nil, sqlstate.New(sqlstate.WindowingError, "GROUPS mode requires an ORDER BY clause").At(over.Pos())
	case f.Mode == "range" && offsets && len(w.Order) != 1:
		return nil, sqlstate.New(sqlstate.WindowingError,
			"RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(over.Pos())
	}
	out := &window.Frame{Mode: frameModes[f.Mode], Exclude: exclusions[f.Exclude]}
	var err error
	if out.Start, err = b.frameBound(f, f.Start, w, sc); err == nil {
		out.End, err = b.frameBound(f, f.End, w, sc)
	}
	return out, err
}

func (b *binder) frameBound(f *ast.Frame, bound ast.Bound, w *window.Call, sc *scope) (window.FrameBound, error) {
	out := window.FrameBound{Kind: window.BoundKind(bound.Kind)}
	if bound.Offset == nil {
		return out, nil
	}
	mode := strings.ToUpper(f.Mode)
	inner := *sc
	inner.noAggregates = "window " + mode
	e, err := b.expr(bound.Offset, &inner)
	if err != nil {
		return out, err
	}
	exec.Walk(e, func(x exec.Expr) {
		if c, ok := x.(*exec.Col); ok && c.Depth == 0 && err == nil {
			err = sqlstate.Locate(sqlstate.New(sqlstate.InvalidColumnReference,
				"argument of %s must not contain variables", mode), b.columns[c])
		}
	})
	if err != nil {
		return out, err
	}
	if f.Mode != "range" {
		out.Offset, err = typing.RowsOffset(&b.Open, e, mode, bound.Offset.Pos())
	} else {
		out.Offset, out.InRange, err = typing.RangeOffset(&b.Open, e, w.Order[0].Type(), bound.Offset.Pos())
	}
	return out, err
}

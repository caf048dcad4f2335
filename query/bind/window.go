package bind

import (
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/sqlstate"
)

// windows resolves the WINDOW clause. A window may begin with one that was defined before it.
func (b *binder) windows(list []ast.WindowDef, sc *scope) error {
	for _, d := range list {
		if _, known := sc.windows[d.Name]; known {
			return sqlstate.New(sqlstate.WindowingError, "window %q is already defined", d.Name).At(d.Pos())
		}
		w, err := sc.window(d.Window)
		if err != nil {
			return err
		}
		if sc.windows == nil {
			sc.windows = map[string]*ast.Window{}
		}
		sc.windows[d.Name] = w
	}
	return nil
}

// window is w with what it takes from a window that it names (transformWindowDefinitions in parse_clause.c).
func (sc *scope) window(w *ast.Window) (*ast.Window, error) {
	name := w.Name + w.Base
	if name == "" {
		return w, nil
	}
	base := sc.windows[name]
	switch {
	case base == nil:
		return nil, sqlstate.New(sqlstate.UndefinedObject, "window %q does not exist", name).At(w.Pos())
	case w.Name != "":
		return base, nil
	case len(w.Partition) > 0:
		return nil, sqlstate.New(sqlstate.WindowingError, "cannot override PARTITION BY clause of window %q",
			name).At(w.Pos())
	case len(w.Order) > 0 && len(base.Order) > 0:
		return nil, sqlstate.New(sqlstate.WindowingError, "cannot override ORDER BY clause of window %q", name).At(w.Pos())
	case base.Frame != nil && len(w.Order) == 0 && w.Frame == nil:
		return nil, sqlstate.New(sqlstate.WindowingError, "cannot copy window %q because it has a frame clause",
			name).At(w.Pos()).
			WithHint("Omit the parentheses in this OVER clause.")
	case base.Frame != nil:
		return nil, sqlstate.New(sqlstate.WindowingError, "cannot copy window %q because it has a frame clause",
			name).At(w.Pos())
	}
	out := *w
	out.Base, out.Partition = "", base.Partition
	if len(w.Order) == 0 {
		out.Order = base.Order
	}
	return &out, nil
}

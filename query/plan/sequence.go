package plan

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/collation"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// now is a text that stands for the newest sequence, as over HTTP.
const now = "now"

// sequences resolves the texts that a feed's sequence is compared with. 'now' becomes the newest sequence at the
// beginning of the statement. A text that is not a sequence is an error, because it would hide a mistake.
func (p *planning) sequences(f *bind.UserScan, conds []exec.Expr) ([]exec.Expr, error) {
	at := -1
	for i, c := range f.Rel.Columns {
		if c.Field == exec.FieldSeq {
			at = f.Base + i
		}
	}
	if at < 0 {
		return conds, nil
	}
	isSeq := func(e exec.Expr) bool {
		c, ok := collation.WithoutBytes(e).(*exec.Col)
		return ok && c.Depth == 0 && c.Index == at
	}
	var failed error
	meaning := func(e exec.Expr, off int) exec.Expr {
		c, ok := e.(*exec.Const)
		if !ok || failed != nil || c.D.K != types.KText {
			return e
		}
		var seq string
		if seq, failed = p.sequence(c.D.S); failed != nil {
			failed = sqlstate.Locate(failed, off)
		}
		return &exec.Const{D: types.NewText(seq), Typ: c.Typ}
	}
	out := make([]exec.Expr, len(conds))
	for i, cond := range conds {
		out[i] = exec.Rewrite(cond, func(e exec.Expr) exec.Expr {
			switch n := e.(type) {
			case *exec.Call:
				if funcs.Comparison(n.Op) == nil || len(n.Args) != 2 || !isSeq(n.Args[0]) && !isSeq(n.Args[1]) {
					break
				}
				c := *n
				c.Args = []exec.Expr{meaning(n.Args[0], n.Off), meaning(n.Args[1], n.Off)}
				return &c
			case *exec.In:
				if !isSeq(n.X) {
					break
				}
				list := make([]exec.Expr, len(n.List))
				for i, x := range n.List {
					list[i] = meaning(x, -1)
				}
				in, err := exec.NewIn(n.Not, n.X, list)
				if err != nil {
					failed = err
					return e
				}
				return in
			case *exec.Any:
				arr, ok := n.Array.(*exec.Const)
				if !ok || !isSeq(n.X) || funcs.Comparison(n.Symbol) == nil || arr.D.IsNull() {
					break
				}
				a := arr.D.Array()
				items := make([]types.Datum, len(a.Items))
				for i, it := range a.Items {
					items[i] = meaning(&exec.Const{D: it, Typ: a.Elem}, -1).(*exec.Const).D
				}
				c := *n
				c.Array = &exec.Const{D: types.NewArray(a.Elem, items), Typ: arr.Typ}
				return &c
			}
			return e
		})
	}
	return out, failed
}

// sequence returns the sequence that a text stands for. "" and "0" are before all others.
func (p *planning) sequence(text string) (string, error) {
	switch {
	case text == now:
		return p.newest()
	case text == "": // no bound, for the store
		return "0", nil
	case text == "0", isSequence(text):
		return text, nil
	}
	return "", sqlstate.New(sqlstate.InvalidTextRepresentation, `invalid input syntax for a sequence: "%s"`,
		types.Truncate(text, 100)).
		WithHint("Sequences come from the column seq; 'now' is the newest, and '0' before the first.")
}

// isSequence reports whether a text has the form of a sequence: lower-case hex of at least 26 digits.
func isSequence(s string) bool {
	return len(s) >= 26 && len(s) <= 42 && len(s)%2 == 0 && strings.Trim(s, "0123456789abcdef") == ""
}

// newest returns the sequence of the last change. It is read once per statement.
func (p *planning) newest() (string, error) {
	if p.lastSeq != nil {
		return *p.lastSeq, nil
	}
	seq, err := Newest(p.st.Ctx, p.db)
	if err == nil {
		p.lastSeq = &seq
	}
	return seq, err
}

// Newest returns the sequence of a database's last change, "0" if there is none.
func Newest(ctx context.Context, db exec.Database) (string, error) {
	rows, err := db.Changes(ctx, exec.ChangesRead{Descending: true, Limit: 1})
	if err != nil {
		return "", exec.StoreError(err)
	}
	defer func() { _ = rows.Close() }()
	row := exec.Row{Seq: "0"}
	if err := rows.Next(ctx, &row); err != nil && !errors.Is(err, io.EOF) {
		return "", exec.StoreError(err)
	}
	return row.Seq, nil
}

// IsSequence reports whether a text is the sequence of a change, or "0".
func IsSequence(s string) bool { return s == "0" || isSequence(s) }

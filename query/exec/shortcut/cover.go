package shortcut

import (
	"errors"
	"io"
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Member is a member of a document, taken from a row of a view instead: the key, a part of it, or the value.
type Member struct {
	// Column has the key or the value, as JSON. Part is the part of an array, -1 for the whole value.
	Column, Part int
	Text         bool // as ->> returns it
	NoNull       bool // JSON's null means that there is no member
	// Was is the expression over the document.
	Was exec.Expr
}

// OfRow implements exec.OfRow.
func (m *Member) OfRow() {}

// Type implements exec.Expr.
func (m *Member) Type() types.OID { return m.Was.Type() }

// String implements exec.Expr.
func (m *Member) String() string { return m.Was.String() }

// Eval implements exec.Expr.
func (m *Member) Eval(env *exec.Env) (types.Datum, error) {
	json, ok := m.JSON(env.Row)
	switch {
	case !ok, m.NoNull && json == "null":
		return types.Null, nil
	case !m.Text:
		return types.NewJSONText(json), nil
	}
	text, ok := types.JSONBText(json)
	if !ok {
		return types.Null, nil
	}
	if err := env.Step(1 + len(text)>>9); err != nil {
		return types.Null, err
	}
	return types.NewText(text), nil
}

// JSON returns the JSON text of the member in a row; false if there is none.
func (m *Member) JSON(row []types.Datum) (string, bool) {
	d := row[m.Column]
	switch {
	case d.IsNull():
		return "", false
	case m.Part < 0:
		return strings.TrimSpace(d.S), true
	}
	i, found, ok := 0, "", false
	types.JSONElements(d.S, func(value string) bool {
		if ok = i == m.Part; ok {
			found = strings.TrimSpace(value)
		}
		i++
		return !ok
	})
	return found, ok
}

// Fetch returns the rows of a scan whose ids a plan returns, in the order of the ids.
type Fetch struct {
	IDs  exec.Plan // one column, and not too many rows to hold
	Scan *exec.Scan

	env   *exec.Env
	begun bool
	none  bool
}

// Open implements exec.Source.
func (f *Fetch) Open(env *exec.Env) error {
	f.env, f.begun, f.none = env, false, false
	outer := env.Outer
	if outer == nil {
		outer = &exec.Env{State: env.State}
	}
	return f.IDs.Open(outer)
}

// Next implements exec.Source.
func (f *Fetch) Next() (bool, error) {
	if !f.begun {
		f.begun = true
		var ids []types.Datum
		for {
			row, err := f.IDs.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return false, err
			}
			ids = append(ids, row[0].Own())
		}
		f.IDs.Close()
		if f.none = len(ids) == 0; f.none {
			return false, nil
		}
		if err := f.Scan.Narrow(ids); err != nil {
			return false, err
		}
		if err := f.Scan.Open(f.env); err != nil {
			return false, err
		}
	}
	if f.none {
		return false, nil
	}
	return f.Scan.Next()
}

// Close implements exec.Source.
func (f *Fetch) Close() {
	f.IDs.Close()
	f.Scan.Close()
}

// Describe implements exec.Source.
func (f *Fetch) Describe() *exec.Description {
	d := f.Scan.Describe()
	d.Children = append(d.Children, f.IDs.Describe())
	return d
}

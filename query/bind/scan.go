package bind

import (
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
)

// From is a bound item of FROM: *UserScan, *VirtualScan, *DerivedScan, *WorkScan, *FuncScan or *Join.
type From interface {
	// Span returns the range of the item's columns in the row buffer.
	Span() (from, to int)
}

// UserScan reads a relation of the store: documents, changes or a view.
type UserScan struct {
	naming.Found
	Alias string
	Base  int
	Used  []bool // columns that the query uses
	Off   int
}

// VirtualScan reads a virtual relation, such as those of pg_catalog.
type VirtualScan struct {
	Rel   exec.Relation
	Alias string
	Base  int
	width int
}

// DerivedScan reads the rows of a query in FROM.
type DerivedScan struct {
	Query   *Query
	Cte     *CTE // if it is a WITH query
	Name    string
	Base    int
	Lateral bool
	Off     int
	Used    []bool // columns that the query uses, for a declared relation; nil for others
}

// WorkScan reads the rows of a recursive query's last round.
type WorkScan struct {
	Work        *exec.WorkTable
	Base, Width int
	Off         int // position of its name
}

// FuncScan reads the rows of the function Fn, or the single row of Scalar.
type FuncScan struct {
	Calls      []exec.FromCall
	Name       string
	Alias      string
	Base       int
	Width      int
	Ordinality bool
}

type Join struct {
	Kind        string
	Left, Right From
	On          []exec.Expr
	Lateral     bool
}

func (s *UserScan) Span() (int, int)    { return s.Base, s.Base + len(s.Rel.Columns) }
func (s *VirtualScan) Span() (int, int) { return s.Base, s.Base + s.width }
func (s *DerivedScan) Span() (int, int) { return s.Base, s.Base + len(s.Query.Columns) }
func (s *WorkScan) Span() (int, int)    { return s.Base, s.Base + s.Width }
func (s *FuncScan) Span() (int, int) {
	to := s.Base + s.Width
	if s.Ordinality {
		to++
	}
	return s.Base, to
}

func (j *Join) Span() (int, int) {
	from, _ := j.Left.Span()
	_, to := j.Right.Span()
	return from, to
}

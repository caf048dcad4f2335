package bind

import (
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
)

// From is a bound item of FROM: *UserScan, *VirtualScan, *DerivedScan, *WorkScan, *FuncScan or *Join.
type From interface {
	// Span returns which columns of the row buffer are the item's.
	Span() (from, to int)
}

// UserScan reads a relation of the store: documents, changes or a view.
type UserScan struct {
	Rel          *naming.UserRelation
	Design, View string // of a view
	Reduce       string // its built-in reduce function, if it has one
	Raw          bool   // options.collation is raw: no order to rely on
	Partitioned  bool   // in the order of keys within each partition only
	Name         string // for EXPLAIN
	Base         int
	Used         []bool // columns that the query looks at
	Off          int
}

// VirtualScan reads a made-up relation, as those of pg_catalog.
type VirtualScan struct {
	Rel   exec.Relation
	Base  int
	width int
}

// DerivedScan reads the rows of a query in FROM.
type DerivedScan struct {
	Query   *Query
	Cte     *CTE // where it is a WITH query
	Name    string
	Base    int
	Lateral bool
}

// WorkScan reads a recursive query's rows of the last round.
type WorkScan struct {
	Work        *exec.WorkTable
	Base, Width int
	Off         int // where it is named
}

// FuncScan reads the rows of a function: of Fn, or the one row of Scalar.
type FuncScan struct {
	Fn         *exec.TableFunc
	Args       []exec.Expr
	Scalar     exec.Expr
	Name       string
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

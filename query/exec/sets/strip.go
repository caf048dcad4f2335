package sets

import (
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// Strip drops the columns that only ORDER BY or DISTINCT needed.
type Strip struct {
	exec.Plan
	Keep int
}

// Next implements exec.Plan.
func (s *Strip) Next() ([]types.Datum, error) {
	row, err := s.Plan.Next()
	if err != nil {
		return nil, err
	}
	return row[:s.Keep], nil
}

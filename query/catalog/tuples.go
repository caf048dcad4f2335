package catalog

import (
	"context"

	"github.com/divandb/divan/query/exec"
)

// tuples returns the number of rows of a relation, for the estimates that tools show instead of counting, and -1 as
// PostgreSQL does if it is not known. The store knows the number of documents without reading them.
func (s *Snapshot) tuples(ctx context.Context) (func(*Class) int64, error) {
	unknown := func(*Class) int64 { return -1 }
	if s.Open == nil || !s.HasDatabase {
		return unknown, nil
	}
	var all, docs int64
	db, err := s.Open(ctx, s.Database)
	counter, ok := db.(exec.Counter)
	if err == nil && ok {
		if all, err = counter.Count(ctx, false); err == nil {
			docs, err = counter.Count(ctx, true)
		}
	}
	if k := exec.KindOf(err); k == exec.NotFound || k == exec.Forbidden || err == nil && !ok {
		return unknown, nil
	}
	if err != nil {
		return nil, exec.StoreError(err)
	}
	known := map[string]int64{"docs": docs, "all_docs": all, "design_docs": all - docs}
	return func(c *Class) int64 {
		if c.keyOf != nil {
			c = c.keyOf
		}
		if n, ok := known[c.Name]; ok && c.Kind == "r" && c.Schema.OID == oidPublic {
			return n
		}
		return -1
	}, nil
}

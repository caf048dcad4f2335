package catalog

import "slices"

// updatable is what pg_relation_is_updatable returns for a relation with INSERT (8), UPDATE (4) and DELETE (16).
const updatable = 8 | 4 | 16

// Guarded is an optional interface of an exec.Database. It reports whether SQL cannot write its documents.
type Guarded interface {
	ReadOnly() bool
}

// writable reports whether the rows of a relation can be written.
func (s *Snapshot) writable(oid int64) bool {
	c := s.classByOID[oid]
	return c != nil && isDocs(c) && !s.ReadOnly
}

// isDocs reports whether a relation is the one of the documents.
func isDocs(c *Class) bool {
	return c.Schema.OID == oidPublic && c.Name == "docs" && !c.view
}

// blocking returns the sessions whose advisory locks keep another one waiting, sorted and each once, as
// pg_blocking_pids does. No other locks are waited for.
func blocking(locks []Lock, waiter int64) []int64 {
	var pids []int64
	for _, w := range locks {
		if w.PID != waiter || w.Granted {
			continue
		}
		for _, l := range locks {
			same := l.Database == w.Database && l.Number == w.Number && l.Pair == w.Pair
			if same && l.Granted && l.PID != waiter && !(l.Shared && w.Shared) {
				pids = append(pids, l.PID)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

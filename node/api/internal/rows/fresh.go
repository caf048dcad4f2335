package rows

import (
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
)

// Index is an index that one request queries, once or several times.
type Index struct {
	Indexer Indexer
	Design  *layer.Design
	ensured bool // it has every write made before the request
}

// mode returns how up to date the index must be. An interactive index always is, once it is ready. Until then queries
// wait (rfc-008).
func (ix *Index) mode(asked UpdateMode) UpdateMode {
	if ix.Design.Options.Interactive {
		return UpdateTrue
	}
	return asked
}

// Prepare comes before a single query. It returns how up to date the index must be for a request like this.
// With UpdateTrue it does not block: most queries find the index up to date, and Query sees to it for the others.
func (ix *Index) Prepare(q *call.Request, asked UpdateMode) (UpdateMode, error) {
	mode := ix.mode(asked)
	if mode == UpdateTrue {
		ix.Indexer.Use(q.DB, ix.Design) // as Ensure does
		return mode, nil
	}
	return mode, ix.Ensure(q, mode)
}

// Ensure brings the index up to date as mode asks.
func (ix *Index) Ensure(q *call.Request, mode UpdateMode) error {
	ix.ensured = true
	return ix.Indexer.Ensure(q.Ctx(), q.DB, ix.Design, mode)
}

// Query runs a query, which is answered at once if the index is up to date. If it is not, the index is updated and the
// query runs again. A query of few rows that finds the index only slightly behind computes the missing rows itself
// (layer.ViewQuery.Ahead): that is faster than writing them to the index, which is then written once for several
// queries. If other requests wait for the index already, the query waits with them.
func Query[T any](q *call.Request, ix *Index, few bool, begin func(current, ahead bool) (T, error)) (T, error) {
	ahead, tried := false, !few || ix.ensured
	return layer.BeginEnsured(func() error {
		ahead = !tried && ix.Indexer.Waiting(q.DB, ix.Design) == 0
		if tried = true; ahead {
			return nil
		}
		return ix.Ensure(q, UpdateTrue)
	}, func() (T, error) { return begin(!ix.ensured, ahead) })
}

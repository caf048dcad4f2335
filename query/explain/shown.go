package explain

import (
	"strings"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// maxShown bounds the text of Shown.
const maxShown = 4 << 10

// Shown describes a plan that runs, or has run, as EXPLAIN (ANALYZE) does, in at most 4 KB, and returns how many rows
// its reads have examined so far.
func Shown(plan exec.Plan, st *exec.State) (text string, examined int64) {
	// The number of documents is not read: the statement may have ended.
	x := New(plan, &ast.Explain{Analyze: true, Format: "text"}, Run{State: st, Documents: -1, begun: true})
	return types.Truncate(strings.Join(x.Text(), "\n"), maxShown), examinedBelow(x.root)
}

func examinedBelow(n *node) int64 {
	sum := max(0, n.Examined)
	for _, c := range n.below {
		sum += examinedBelow(c)
	}
	for _, list := range [][]subplan{n.inits, n.subs} {
		for _, c := range list {
			sum += examinedBelow(c.node)
		}
	}
	return sum
}

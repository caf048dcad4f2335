package explain

import (
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// maxEnded bounds the text of Ended.
const maxEnded = 4 << 10

// Ended describes a plan that has run, as EXPLAIN (ANALYZE) does, in at most 4 KB, and returns how many rows its reads
// have examined.
func Ended(plan exec.Plan, st *exec.State, took time.Duration) (text string, examined int64) {
	// The number of documents is not read, since the statement has ended.
	x := New(plan, &ast.Explain{Analyze: true, Format: "text"}, Run{State: st, Documents: -1, Took: took, ended: true})
	return types.Truncate(strings.Join(x.Text(), "\n"), maxEnded), examinedBelow(x.root)
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

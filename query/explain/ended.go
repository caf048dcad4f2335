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
func Ended(plan exec.Plan, took time.Duration) (text string, examined int64) {
	root := plan.Describe()
	// The number of documents is not read, since the statement has ended.
	x := New(plan, &ast.Explain{Analyze: true, Format: "text"}, -1, root.Rows, took)
	return types.Truncate(strings.Join(x.Text(), "\n"), maxEnded), examinedBelow(root)
}

func examinedBelow(d *exec.Description) int64 {
	n := max(0, d.Examined)
	for _, c := range d.Children {
		n += examinedBelow(c)
	}
	return n
}

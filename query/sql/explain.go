package sql

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
)

// ExplainText is the plan as PostgreSQL would print it, one line per item. took is not zero after ANALYZE.
func ExplainText(plan exec.Plan, e *Explain, returned int64, took time.Duration) []string {
	var lines []string
	var walk func(d *exec.Description, depth int)
	walk = func(d *exec.Description, depth int) {
		indent := strings.Repeat("  ", depth)
		head := indent + d.Node
		inner := indent + "  "
		if depth > 0 {
			head = strings.Repeat("  ", depth*3-2) + "->  " + d.Node
			inner = strings.Repeat("  ", depth*3) + "  "
		}
		if e.Analyze {
			head += fmt.Sprintf("  (rows=%d", d.Rows)
			if d.Examined >= 0 {
				head += fmt.Sprintf(" examined=%d", d.Examined)
			}
			head += ")"
		}
		lines = append(lines, head)
		for _, det := range d.Details {
			if det.Name == "Rows Removed by Filter" && !e.Analyze {
				continue
			}
			text := fmt.Sprint(det.Value)
			if list, ok := det.Value.([]string); ok {
				text = strings.Join(list, ", ")
			}
			lines = append(lines, inner+det.Name+": "+text)
		}
		for _, c := range d.Children {
			walk(c, depth+1)
		}
	}
	walk(plan.Describe(), 0)
	if e.Analyze {
		lines = append(lines, fmt.Sprintf("Rows Returned: %d", returned))
		if e.Timing {
			lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", float64(took.Microseconds())/1000))
		}
	}
	return lines
}

// ExplainJSON is the plan in the form of PostgreSQL's FORMAT JSON.
func ExplainJSON(plan exec.Plan, e *Explain, returned int64, took time.Duration) string {
	out := map[string]any{"Plan": explainNode(plan.Describe(), e)}
	if e.Analyze {
		out["Rows Returned"] = returned
		if e.Timing {
			out["Execution Time"] = float64(took.Microseconds()) / 1000
		}
	}
	text, err := json.MarshalIndent([]any{out}, "", "  ")
	if err != nil {
		return "[]" // cannot be: only texts and numbers
	}
	return string(text)
}

func explainNode(d *exec.Description, e *Explain) map[string]any {
	m := map[string]any{"Node Type": d.Node}
	for _, det := range d.Details {
		if det.Name == "Rows Removed by Filter" && !e.Analyze {
			continue
		}
		m[det.Name] = det.Value
	}
	if e.Analyze {
		m["Actual Rows"] = d.Rows
		if d.Examined >= 0 {
			m["Rows Examined"] = d.Examined
		}
	}
	if len(d.Children) > 0 {
		plans := make([]any, len(d.Children))
		for i, c := range d.Children {
			plans[i] = explainNode(c, e)
		}
		m["Plans"] = plans
	}
	return m
}

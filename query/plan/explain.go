package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// ExplainText returns the plan as PostgreSQL prints it, one line per item. took is not zero after ANALYZE.
func ExplainText(plan exec.Plan, e *ast.Explain, returned int64, took time.Duration) []string {
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

// Guess returns costs, rows and width in PostgreSQL's format, for clients that need them: a document is one row,
// anything else a thousand. Nothing is known about rows before they are read.
func Guess(plan exec.Plan, cols []exec.Column) string {
	rows, width := 1000, 0
	if strings.HasPrefix(plan.Describe().Node, "Document Read") {
		rows = 1
	}
	for _, c := range cols {
		switch c.Type {
		case types.JSONB, types.JSON:
			width += 500
		default:
			width += 32
		}
	}
	return fmt.Sprintf("  (cost=1.00..%d.00 rows=%d width=%d)", 1+rows, rows, width)
}

// ExplainJSON returns the plan in PostgreSQL's FORMAT JSON.
func ExplainJSON(plan exec.Plan, e *ast.Explain, returned int64, took time.Duration) string {
	var w jsonWriter
	w.open("[")
	w.open("{")
	w.name("Plan")
	explainNode(&w, plan.Describe(), e)
	if e.Analyze {
		w.field("Rows Returned", returned)
		if e.Timing {
			w.field("Execution Time", float64(took.Microseconds())/1000)
		}
	}
	w.close("}")
	w.close("]")
	return w.b.String()
}

func explainNode(w *jsonWriter, d *exec.Description, e *ast.Explain) {
	w.open("{")
	w.field("Node Type", d.Node)
	for _, det := range d.Details {
		if det.Name != "Rows Removed by Filter" || e.Analyze {
			w.field(det.Name, det.Value)
		}
	}
	if e.Analyze {
		w.field("Actual Rows", d.Rows)
		if d.Examined >= 0 {
			w.field("Rows Examined", d.Examined)
		}
	}
	if len(d.Children) > 0 {
		w.name("Plans")
		w.open("[")
		for _, c := range d.Children {
			w.item()
			explainNode(w, c, e)
		}
		w.close("]")
	}
	w.close("}")
}

// jsonWriter writes indented JSON. Members keep their order.
type jsonWriter struct {
	b     strings.Builder
	depth int
	some  bool // the open bracket has an item
}

func (w *jsonWriter) open(bracket string) {
	w.b.WriteString(bracket)
	w.depth++
	w.some = false
	if bracket == "[" && w.depth == 1 {
		w.item()
	}
}

func (w *jsonWriter) close(bracket string) {
	w.depth--
	w.b.WriteString("\n" + strings.Repeat("  ", w.depth) + bracket)
	w.some = true
}

// item begins an item on its own line.
func (w *jsonWriter) item() {
	if w.some {
		w.b.WriteString(",")
	}
	w.b.WriteString("\n" + strings.Repeat("  ", w.depth))
	w.some = true
}

func (w *jsonWriter) name(n string) {
	w.item()
	w.b.Write(jsontext.AppendQuoted(nil, n))
	w.b.WriteString(": ")
}

func (w *jsonWriter) field(n string, value any) {
	w.name(n)
	switch v := value.(type) {
	case string:
		w.b.Write(jsontext.AppendQuoted(nil, v))
	case []string:
		for i, s := range v {
			w.b.WriteString(map[bool]string{true: "[", false: ", "}[i == 0])
			w.b.Write(jsontext.AppendQuoted(nil, s))
		}
		w.b.WriteString("]")
	default:
		fmt.Fprint(&w.b, v)
	}
	w.some = true
}

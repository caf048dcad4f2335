// Package explain prints plans as PostgreSQL's EXPLAIN does, with estimates of costs and rows. Package plan makes the
// plans and package exec runs them.
package explain

import (
	"context"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sql/ast"
	"github.com/divandb/divan/query/types"
)

// Explained is a plan as EXPLAIN shows it.
type Explained struct {
	root *exec.Description
	e    *ast.Explain
	est  *estimator
	// returned and took are known after ANALYZE.
	returned int64
	took     time.Duration
}

// New describes a plan. docs is the number of documents of the database, negative if it is not known.
func New(plan exec.Plan, e *ast.Explain, docs, returned int64, took time.Duration) *Explained {
	root := plan.Describe()
	return &Explained{root, e, newEstimator(root, docs), returned, took}
}

// Documents returns the number of documents of a database, -1 if it is not known.
func Documents(ctx context.Context, db exec.Database) int64 {
	c, ok := db.(exec.Counter)
	if !ok {
		return -1
	}
	n, err := c.Count(ctx, true)
	if err != nil {
		return -1 // an estimate does not need it
	}
	return n
}

// Lines returns the rows of the result: a line each, or the whole in a structured format.
func (x *Explained) Lines() []types.Datum {
	switch x.e.Format {
	case "json":
		return []types.Datum{types.NewJSONText(x.JSON())}
	case "yaml":
		return []types.Datum{types.NewText(x.YAML())}
	case "xml":
		return []types.Datum{types.NewText(x.XML())}
	}
	var out []types.Datum
	for _, line := range x.Text() {
		out = append(out, types.NewText(line))
	}
	return out
}

// millis is the execution time.
func (x *Explained) millis() float64 { return float64(x.took.Microseconds()) / 1000 }

// Text returns the plan as PostgreSQL prints it, one line per item.
func (x *Explained) Text() []string {
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
		if x.e.Costs {
			head += "  " + x.est.nodes[d].text()
		}
		if x.e.Analyze {
			head += fmt.Sprintf("%s(%srows=%d", map[bool]string{true: " ", false: "  "}[x.e.Costs],
				map[bool]string{true: "actual ", false: ""}[x.e.Costs], d.Rows)
			if d.Examined >= 0 {
				head += fmt.Sprintf(" examined=%d", d.Examined)
			}
			head += ")"
		}
		lines = append(lines, head)
		for _, det := range details(d) {
			if det.Name == "Rows Removed by Filter" && !x.e.Analyze {
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
	walk(x.root, 0)
	if x.e.Analyze {
		lines = append(lines, fmt.Sprintf("Rows Returned: %d", x.returned))
		if x.e.Timing {
			lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", x.millis()))
		}
	}
	return lines
}

// member is a named value of a structured format: a string, a []string, a number, the members of a node, or nodes.
type member struct {
	name  string
	value any
}

// members returns the members of a node.
func (x *Explained) members(d *exec.Description) []member {
	out := []member{{"Node Type", d.Node}}
	for _, det := range details(d) {
		if det.Name != "Rows Removed by Filter" || x.e.Analyze {
			out = append(out, member{det.Name, det.Value})
		}
	}
	if x.e.Costs {
		est := x.est.nodes[d]
		out = append(out, member{"Startup Cost", raw(cost(est.startup))}, member{"Total Cost", raw(cost(est.total))},
			member{"Plan Rows", int64(est.rows)}, member{"Plan Width", est.width})
	}
	if x.e.Analyze {
		out = append(out, member{"Actual Rows", d.Rows})
		if d.Examined >= 0 {
			out = append(out, member{"Rows Examined", d.Examined})
		}
	}
	if len(d.Children) > 0 {
		var list [][]member
		for _, c := range d.Children {
			list = append(list, x.members(c))
		}
		out = append(out, member{"Plans", list})
	}
	return out
}

// raw is a number that has been printed.
type raw string

// query returns the members of the whole.
func (x *Explained) query() []member {
	out := []member{{"Plan", x.members(x.root)}}
	if x.e.Analyze {
		out = append(out, member{"Rows Returned", x.returned})
		if x.e.Timing {
			out = append(out, member{"Execution Time", x.millis()})
		}
	}
	return out
}

// JSON returns the plan in PostgreSQL's FORMAT JSON.
func (x *Explained) JSON() string {
	var b strings.Builder
	var object func(list []member, indent string)
	object = func(list []member, indent string) {
		b.WriteString("{")
		for i, m := range list {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n" + indent + "  " + quoted(m.name) + ": ")
			switch v := m.value.(type) {
			case []member:
				object(v, indent+"  ")
			case [][]member:
				b.WriteString("[")
				for i, child := range v {
					b.WriteString(map[bool]string{true: "", false: ","}[i == 0] + "\n" + indent + "    ")
					object(child, indent+"    ")
				}
				b.WriteString("\n" + indent + "  ]")
			case []string:
				items := make([]string, len(v))
				for i, s := range v {
					items[i] = quoted(s)
				}
				b.WriteString("[" + strings.Join(items, ", ") + "]")
			default:
				b.WriteString(scalar(v))
			}
		}
		b.WriteString("\n" + indent + "}")
	}
	b.WriteString("[\n  ")
	object(x.query(), "  ")
	b.WriteString("\n]")
	return b.String()
}

// YAML returns the plan in PostgreSQL's FORMAT YAML.
func (x *Explained) YAML() string {
	var b strings.Builder
	var object func(list []member, indent string)
	object = func(list []member, indent string) {
		for i, m := range list {
			if i > 0 {
				b.WriteString("\n" + indent)
			}
			b.WriteString(m.name + ": ")
			switch v := m.value.(type) {
			case []member:
				b.WriteString("\n" + indent + "  ")
				object(v, indent+"  ")
			case [][]member:
				for _, child := range v {
					b.WriteString("\n" + indent + "  - ")
					object(child, indent+"    ")
				}
			case []string:
				for _, s := range v {
					b.WriteString("\n" + indent + "  - " + quoted(s))
				}
			default:
				b.WriteString(scalar(v))
			}
		}
	}
	b.WriteString("- ")
	object(x.query(), "  ")
	return b.String()
}

// XML returns the plan in PostgreSQL's FORMAT XML.
func (x *Explained) XML() string {
	var b strings.Builder
	text := func(s string) string {
		var e strings.Builder
		_ = xml.EscapeText(&e, []byte(s)) // a Builder does not fail
		return e.String()
	}
	var object func(list []member, indent string)
	object = func(list []member, indent string) {
		for _, m := range list {
			tag := strings.ReplaceAll(m.name, " ", "-")
			b.WriteString("\n" + indent + "<" + tag + ">")
			switch v := m.value.(type) {
			case []member:
				object(v, indent+"  ")
				b.WriteString("\n" + indent)
			case [][]member:
				for _, child := range v {
					b.WriteString("\n" + indent + "  <Plan>")
					object(child, indent+"    ")
					b.WriteString("\n" + indent + "  </Plan>")
				}
				b.WriteString("\n" + indent)
			case []string:
				for _, s := range v {
					b.WriteString("\n" + indent + "  <Item>" + text(s) + "</Item>")
				}
				b.WriteString("\n" + indent)
			case string:
				b.WriteString(text(v))
			default:
				b.WriteString(scalar(v))
			}
			b.WriteString("</" + tag + ">")
		}
	}
	b.WriteString(`<explain xmlns="http://www.postgresql.org/2009/explain">` + "\n  <Query>")
	object(x.query(), "    ")
	b.WriteString("\n  </Query>\n</explain>")
	return b.String()
}

func quoted(s string) string { return string(jsontext.AppendQuoted(nil, s)) }

func scalar(v any) string {
	if s, ok := v.(string); ok {
		return quoted(s)
	}
	return fmt.Sprint(v)
}

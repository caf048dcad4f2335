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
	root *node
	e    *ast.Explain
	run  Run
}

// Run is what is known of a statement beside its plan.
type Run struct {
	// State is that of the plan, nil if it has ended.
	State *exec.State
	// Documents is the number of documents of the database, negative if it is not known.
	Documents int64
	// Planned is how long the planning took; Took is for the rest, after ANALYZE.
	Planned, Took time.Duration
	// Settings are those with an effect on plans that are not their defaults, with their values.
	Settings [][2]string
	begun    bool // the plan runs or has run: what has not been needed is not planned now
}

// New describes a plan.
func New(plan exec.Plan, e *ast.Explain, run Run) *Explained {
	root := shape(plan, run.State, !run.begun)
	newEstimator(run.Documents).node(root)
	return &Explained{root, e, run}
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

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// hidden reports whether a detail is not shown as it is.
func (x *Explained) hidden(d exec.Detail) bool {
	return d.Name == "Sort Method" || d.Name == "Rows Removed by Filter" && !x.e.Analyze
}

// Text returns the plan as PostgreSQL prints it, one line per item.
func (x *Explained) Text() []string {
	var lines []string
	var walk func(n *node, indent int, arrow bool)
	plans := func(list []subplan, indent int) {
		for _, in := range list {
			lines = append(lines, strings.Repeat(" ", indent)+in.name)
			if in.disk > 0 && x.e.Analyze {
				lines = append(lines, strings.Repeat(" ", indent+2)+"Disk: "+kB(in.disk))
			}
			walk(in.node, indent+2, true)
		}
	}
	walk = func(n *node, indent int, arrow bool) {
		head, inner := strings.Repeat(" ", indent), indent+2
		if arrow {
			head, inner = head+"->  ", indent+6
		}
		lines = append(lines, head+n.title()+x.numbers(n))
		for _, line := range x.details(n) {
			lines = append(lines, strings.Repeat(" ", inner)+line)
		}
		plans(n.inits, inner)
		for _, c := range n.below {
			walk(c, inner, true)
		}
		plans(n.subs, inner)
	}
	walk(x.root, 0, false)
	if s := x.settings(); x.e.Settings && len(s) > 0 {
		lines = append(lines, "Settings: "+strings.Join(s, ", "))
	}
	if x.e.Summary {
		lines = append(lines, fmt.Sprintf("Planning Time: %.3f ms", millis(x.run.Planned)))
		if x.e.Analyze {
			lines = append(lines, fmt.Sprintf("Execution Time: %.3f ms", millis(x.run.Took)))
		}
	}
	return lines
}

// settings returns name = 'value' for each setting that is shown.
func (x *Explained) settings() []string {
	var out []string
	for _, s := range x.run.Settings {
		out = append(out, s[0]+" = '"+strings.ReplaceAll(s[1], "'", "''")+"'")
	}
	return out
}

// numbers returns the estimates and the rows of a node, as they follow its title.
func (x *Explained) numbers(n *node) (out string) {
	if x.e.Costs {
		out = "  " + n.est.text()
	}
	if x.e.Analyze {
		switch {
		case n.loops < 0:
			out += " (never executed)"
		default:
			out += fmt.Sprintf(" (actual rows=%d loops=%d)", n.average(n.Rows), max(n.loops, 1))
		}
	}
	return out
}

// average returns the value of a detail, which is that of an average run if it is a number of rows.
func (x *Explained) average(n *node, d exec.Detail) any {
	if removed, ok := d.Value.(int64); ok && d.Name == "Rows Removed by Filter" {
		return n.average(removed)
	}
	return d.Value
}

// details returns the lines below a node's title.
func (x *Explained) details(n *node) (out []string) {
	for _, det := range details(n.Description) {
		if x.hidden(det) {
			continue
		}
		text := fmt.Sprint(x.average(n, det))
		if list, ok := det.Value.([]string); ok {
			text = strings.Join(list, ", ")
		}
		out = append(out, det.Name+": "+text)
	}
	if x.e.Analyze && n.Examined >= 0 && n.loops >= 0 {
		out = append(out, "Rows Examined: "+count(n.average(n.Examined)))
	}
	if x.e.Analyze && n.Space != nil && n.loops >= 0 {
		if line := spaceLine(n); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// member is a named value of a structured format: a string, a []string, a number, the members of a node, or nodes.
type member struct {
	name  string
	value any
}

// members returns the members of a node. relation and name say how it belongs to the node above.
func (x *Explained) members(n *node, relation, name string) []member {
	out := n.kind()
	if relation != "" {
		out = append(out, member{"Parent Relationship", relation})
	}
	if name != "" {
		out = append(out, member{"Subplan Name", name})
	}
	out = append(out, member{"Parallel Aware", false}, member{"Async Capable", false})
	if n.Join != "" {
		out = append(out, member{"Join Type", capital(n.Join)})
	}
	if x.e.Costs {
		out = append(out, member{"Startup Cost", raw(cost(n.est.startup))},
			member{"Total Cost", raw(cost(n.est.total))}, member{"Plan Rows", int64(n.est.rows)},
			member{"Plan Width", n.est.width})
	}
	if x.e.Analyze {
		out = append(out, member{"Actual Rows", n.average(n.Rows)}, member{"Actual Loops", max(n.loops, 0)})
		if n.Examined >= 0 {
			out = append(out, member{"Rows Examined", n.average(n.Examined)})
		}
	}
	for _, det := range details(n.Description) {
		if !x.hidden(det) {
			out = append(out, member{det.Name, x.average(n, det)})
		}
	}
	if x.e.Analyze && n.Space != nil {
		out = append(out, spaceMembers(n)...)
	}
	if list := x.plans(n); list != nil {
		out = append(out, member{"Plans", list})
	}
	return out
}

// plans returns the nodes below a node, in PostgreSQL's order.
func (x *Explained) plans(n *node) (list [][]member) {
	for _, in := range n.inits {
		list = append(list, x.members(in.node, "InitPlan", in.name))
	}
	for i, c := range n.below {
		relation := "Outer"
		switch {
		case n.Node == "Subquery Scan":
			relation = "Subquery"
		case n.Node == "Append", n.Node == "Result" && len(n.below) > 1:
			relation = "Member"
		case i > 0:
			relation = "Inner"
		}
		list = append(list, x.members(c, relation, ""))
	}
	for _, in := range n.subs {
		list = append(list, x.members(in.node, "SubPlan", in.name))
	}
	return list
}

// raw is a number that has been printed.
type raw string

// query returns the members of the whole.
func (x *Explained) query() []member {
	out := []member{{"Plan", x.members(x.root, "", "")}}
	if x.e.Settings && len(x.run.Settings) > 0 {
		var list []member
		for _, s := range x.run.Settings {
			list = append(list, member{s[0], s[1]})
		}
		out = append(out, member{"Settings", list})
	}
	if x.e.Summary {
		out = append(out, member{"Planning Time", raw(fmt.Sprintf("%.3f", millis(x.run.Planned)))})
	}
	if x.e.Analyze {
		out = append(out, member{"Triggers", [][]member{}})
		if x.e.Summary {
			out = append(out, member{"Execution Time", raw(fmt.Sprintf("%.3f", millis(x.run.Took)))})
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
				if len(v) == 0 {
					b.WriteString("[]")
					break
				}
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

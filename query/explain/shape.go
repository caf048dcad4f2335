package explain

import (
	"strings"

	"github.com/divandb/divan/query/exec"
)

// node is a node of a plan in PostgreSQL's shape.
type node struct {
	*exec.Description
	// below are the nodes that return rows to this one; inits are plans that are run once for it, and subs those of
	// sub-queries in its expressions.
	below       []*node
	inits, subs []subplan
	loops       int64 // -1 for none
	est         estimate
}

// subplan is a plan that does not return its rows to the node that it belongs to.
type subplan struct {
	name string
	node *node
	disk int64
	once bool // it is run once
}

// shaper makes the nodes of a plan, and those of the queries in its expressions, which it numbers in order.
type shaper struct {
	st *exec.State
	// plan is set if queries that have not been needed are planned.
	plan         bool
	seen         map[*exec.Subquery]bool
	plans, param int
}

// shape returns the nodes of a plan. st may be nil. Queries that have not been needed are planned if further is set.
func shape(plan exec.Plan, st *exec.State, further bool) *node {
	s := &shaper{st: st, plan: further, seen: map[*exec.Subquery]bool{}}
	if st != nil {
		s.number(plan.Describe())
	}
	clear(s.seen)
	return s.node(plan.Describe(), 1)
}

// number gives numbers to the queries in the expressions of a node and those below it.
func (s *shaper) number(d *exec.Description) {
	for _, q := range s.queries(d) {
		s.plans++
		if q.Number(s.plans, s.param) {
			s.param++
		}
		if in, ok := q.Subplan(s.st, s.plan); ok {
			s.number(in.Plan)
		}
	}
	for _, in := range d.Inits {
		s.number(in.Plan)
	}
	for _, c := range d.Children {
		s.number(c)
	}
}

// queries returns the queries in the expressions of a node that have not been seen.
func (s *shaper) queries(d *exec.Description) (out []*exec.Subquery) {
	for _, e := range d.Exprs {
		if e == nil {
			continue
		}
		exec.Walk(e, func(x exec.Expr) {
			if q, ok := x.(*exec.Subquery); ok && !s.seen[q] {
				s.seen[q] = true
				out = append(out, q)
			}
		})
	}
	return out
}

// node makes the node of a description. loops is how often the node above has run, -1 for never.
func (s *shaper) node(d *exec.Description, loops int64) *node {
	if d.Loops != 0 && loops >= 0 {
		loops = d.Loops
	}
	n := &node{Description: d, loops: loops}
	for _, in := range d.Inits {
		n.inits = append(n.inits, subplan{in.Name, s.node(in.Plan, 1), in.Disk, true})
	}
	if s.st != nil {
		for _, q := range s.queries(d) {
			in, ok := q.Subplan(s.st, s.plan)
			if !ok {
				continue
			}
			sub := subplan{in.Name, s.node(in.Plan, in.Plan.Loops), in.Disk, !q.Correlated}
			if strings.HasPrefix(in.Name, "InitPlan") {
				n.inits = append(n.inits, sub)
			} else {
				n.subs = append(n.subs, sub)
			}
		}
	}
	for _, c := range d.Children {
		n.below = append(n.below, s.node(c, loops))
	}
	if d.Node == "Hash Join" {
		n.hash()
	}
	return n
}

// hash puts the hash table of a join's right side into a node of its own.
func (n *node) hash() {
	right := n.below[1]
	n.below[1] = &node{Description: &exec.Description{Node: "Hash", Rows: right.Rows, Examined: -1, Space: n.Space,
		Columns: right.Columns}, below: []*node{right}, loops: right.loops}
	mine := *n.Description
	n.Description, mine.Space = &mine, nil
}

// average returns the part of an average run in a number of rows.
func (n *node) average(rows int64) int64 {
	if n.loops > 1 {
		return (rows + n.loops/2) / n.loops
	}
	return rows
}

// title is the first line of a node.
func (n *node) title() string {
	out := n.Node
	if n.Join != "" && n.Join != "inner" {
		kind := capital(n.Join)
		if first, ok := strings.CutSuffix(out, " Join"); ok {
			out = first + " " + kind + " Join"
		} else {
			out += " " + kind + " Join"
		}
	}
	if n.On != "" {
		out += " on " + n.On
	}
	if n.Alias != "" && n.Alias != last(n.On) {
		out += " " + n.Alias
	}
	return out
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// kinds are PostgreSQL's node types of nodes whose text has another name, with what else that says.
var kinds = map[string][]member{
	"Aggregate":               {{"Node Type", "Aggregate"}, {"Strategy", "Plain"}, {"Partial Mode", "Simple"}},
	"HashAggregate":           {{"Node Type", "Aggregate"}, {"Strategy", "Hashed"}, {"Partial Mode", "Simple"}},
	"HashSetOp Intersect":     {{"Node Type", "SetOp"}, {"Strategy", "Hashed"}, {"Command", "Intersect"}},
	"HashSetOp Intersect All": {{"Node Type", "SetOp"}, {"Strategy", "Hashed"}, {"Command", "Intersect All"}},
	"HashSetOp Except":        {{"Node Type", "SetOp"}, {"Strategy", "Hashed"}, {"Command", "Except"}},
	"HashSetOp Except All":    {{"Node Type", "SetOp"}, {"Strategy", "Hashed"}, {"Command", "Except All"}},
}

// kind returns the members of a node that its title stands for in the text.
func (n *node) kind() []member {
	out, known := kinds[n.Node]
	if !known {
		out = []member{{"Node Type", n.Node}}
	}
	out = append([]member(nil), out...)
	switch {
	case n.On == "":
		return out
	case n.Node == "CTE Scan", n.Node == "WorkTable Scan":
		out = append(out, member{"CTE Name", n.On})
	case n.Node == "Function Scan":
		out = append(out, member{"Function Name", n.On})
	case strings.HasSuffix(n.Node, " Scan"): // a query or VALUES, known by its alias
	default:
		schema, name, ok := strings.Cut(n.On, ".")
		if !ok {
			schema, name = "public", n.On
		}
		out = append(out, member{"Relation Name", name}, member{"Schema", schema})
	}
	alias := n.Alias
	if alias == "" {
		alias = last(n.On)
	}
	return append(out, member{"Alias", alias})
}

// last returns the last part of a name.
func last(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// spaceLine returns what a node needed for its rows, as PostgreSQL prints it.
func spaceLine(n *node) string {
	s := n.Space
	if n.Node == "Sort" {
		line := "Sort Method: " + n.detail("Sort Method") + "  "
		if s.Disk > 0 {
			return line + "Disk: " + kB(s.Disk)
		}
		return line + "Memory: " + kB(s.Memory)
	}
	if s.Batches == 0 {
		if s.Disk > 0 {
			return "Disk Usage: " + kB(s.Disk)
		}
		return ""
	}
	line := "Batches: " + count(s.Batches) + "  Memory Usage: " + kB(s.Memory)
	if s.Disk > 0 {
		line += "  Disk Usage: " + kB(s.Disk)
	}
	return line
}

// spaceMembers is spaceLine for structured formats.
func spaceMembers(n *node) []member {
	s := n.Space
	if n.Node == "Sort" {
		used, where := s.Memory, "Memory"
		if s.Disk > 0 {
			used, where = s.Disk, "Disk"
		}
		return []member{{"Sort Method", n.detail("Sort Method")}, {"Sort Space Used", kilobytes(used)},
			{"Sort Space Type", where}}
	}
	var out []member
	switch {
	case s.Batches == 0:
	case n.Node == "Hash":
		out = append(out, member{"Hash Batches", s.Batches}, member{"Peak Memory Usage", kilobytes(s.Memory)})
	default:
		out = append(out, member{"HashAgg Batches", s.Batches}, member{"Peak Memory Usage", kilobytes(s.Memory)})
	}
	if s.Disk > 0 || s.Batches > 0 && n.Node != "Hash" {
		out = append(out, member{"Disk Usage", kilobytes(s.Disk)})
	}
	return out
}

// detail returns a detail that is a text.
func (n *node) detail(name string) string {
	for _, d := range n.Details {
		if text, ok := d.Value.(string); ok && d.Name == name {
			return text
		}
	}
	return ""
}

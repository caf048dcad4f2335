// Package status prints the state of a cluster for a terminal, as `divan status` does: its nodes, what needs attention,
// jobs, builds and the last events. Any node answers for all.
package status

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divandb/divan/node/console/state"
)

// Exit statuses of `divan status`.
const (
	Well     = 0
	Degraded = 1 // something needs attention
	Failed   = 2 // no node reaches its store, or no answer
)

// Exit returns the exit status for a state of the cluster.
func Exit(o *state.Overview) int {
	switch o.State {
	case "ok", "working":
		return Well
	case "degraded":
		return Degraded
	}
	return Failed
}

const (
	maxAttention = 8
	maxLately    = 4 // of what was so and is over
	maxTasks     = 6
	// idColumn and stateColumn are the widths of the names of nodes and of their states.
	idColumn, stateColumn = 16, len("unavailable")
	// leastWidth is the width of the narrowest terminal for which lines are made.
	leastWidth = 60
)

// Text returns the overview as lines of at most width columns, each with a newline. Control characters in names are
// replaced.
func Text(o *state.Overview, width int) string {
	p := &page{width: max(width, leastWidth)}
	p.wrapped(strings.ToUpper(o.State)+"  ", o.Text)
	p.line("asked %s at %s", o.Node, o.Now.UTC().Format("2006-01-02 15:04:05 UTC"))
	p.nodes(o.Nodes)
	p.attention("ATTENTION", o.Attention, maxAttention)
	p.jobs(o)
	p.attention("LATELY", o.Lately, maxLately)
	p.events(o.Events)
	return p.text.String()
}

// page collects lines.
type page struct {
	width int
	text  strings.Builder
}

func (p *page) line(format string, args ...any) {
	p.text.WriteString(cut(clean(fmt.Sprintf(format, args...)), p.width))
	p.text.WriteByte('\n')
}

func (p *page) heading(format string, args ...any) {
	p.text.WriteByte('\n')
	p.line(format, args...)
}

// wrapped writes text over several lines, those after the first with an indent.
func (p *page) wrapped(first, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(first))
	line := first
	empty := true
	for word := range strings.FieldsSeq(clean(text)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width {
			p.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	p.line("%s", line)
}

// columns are the values that each node has, with their series.
var columns = []struct{ title, series string }{
	{"WRITES/S", "docs_written"}, {"READS/S", "docs_read"}, {"HTTP/S", "http_done"}, {"SQL/S", "statements"},
	{"LAG S", "index_lag"}, {"COMMIT MS", "commit_p99"},
}

func (p *page) nodes(nodes []state.Node) {
	head := pad("NODE", idColumn) + " " + pad("STATE", stateColumn)
	for _, c := range columns {
		head += " " + left(c.title, max(7, len(c.title)))
	}
	p.heading("%s", head)
	for _, n := range nodes {
		row := pad(clean(n.Name), idColumn) + " " + pad(word(&n), stateColumn)
		for _, c := range columns {
			value := "-"
			if v, ok := n.Now[c.series]; ok {
				value = number(v)
			}
			row += " " + left(value, max(7, len(c.title)))
		}
		p.line("%s", strings.TrimRight(row, " "))
	}
}

// word is the state of a node. One that is gone has died or left, as in divan.members.
func word(n *state.Node) string {
	switch {
	case n.State != "gone":
		return n.State
	case n.GivenUp:
		return "dead"
	}
	return "left"
}

func (p *page) attention(heading string, list []state.Attention, most int) {
	if len(list) == 0 {
		return
	}
	p.heading("%s", heading)
	for i, a := range list {
		if i == most {
			p.line("  and %d more", len(list)-i)
			break
		}
		p.wrapped("  "+pad(string(a.Severity), 8), a.Text)
	}
}

func (p *page) jobs(o *state.Overview) {
	var counts []string
	total := 0
	for name, n := range o.Jobs {
		counts = append(counts, fmt.Sprintf("%d %s", n, name))
		total += n
	}
	slices.Sort(counts)
	text := "none"
	switch {
	case o.Jobs == nil:
		text = "unknown: the store did not answer in time"
	case total > 0:
		text = strings.Join(counts, ", ")
	}
	if o.Failing > 0 {
		text += fmt.Sprintf("; %d failed before", o.Failing)
	}
	if o.Read != nil {
		text += fmt.Sprintf(" (as of %s s ago: the store does not answer now)", number(o.Now.Sub(*o.Read).Seconds()))
	}
	p.heading("JOBS  %s", text)
	for i, t := range o.Tasks {
		if i == maxTasks {
			p.line("  and %d more", max(o.Working, len(o.Tasks))-i)
			break
		}
		share := fmt.Sprintf("%3d%%", t.Progress)
		if t.Total == 0 {
			share = "    "
		}
		row := fmt.Sprintf("  %s  %s %s", share, t.Type, t.Database)
		if t.Design != "" {
			row += " " + t.Design
		}
		row += fmt.Sprintf(" on %s, %s documents", t.Node, number(float64(t.Done)))
		if t.Rate > 0 {
			row += ", " + number(t.Rate) + "/s"
		}
		if t.Left != nil {
			row += ", " + number(*t.Left) + " s to go"
		}
		p.line("%s", row)
	}
}

func (p *page) events(list []state.Event) {
	if len(list) == 0 {
		return
	}
	p.heading("EVENTS")
	for _, e := range list {
		mark := " "
		switch e.Severity {
		case state.Error:
			mark = "!"
		case state.Warning:
			mark = "?"
		case state.Good:
			mark = "+"
		}
		more := ""
		if e.Repeated > 0 && e.Until != nil {
			more = fmt.Sprintf(" (and %d more until %s)", e.Repeated, e.Until.UTC().Format("15:04:05"))
		}
		p.line("%s %s %s%s: %s", mark, e.At.UTC().Format("15:04:05"), e.Node, more, e.Text)
	}
}

// number returns a value with at most three digits, or all of those before the point.
func number(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// clean replaces what could move the cursor or change the colours of a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '.'
		}
		return r
	}, s)
}

// cut shortens s to width characters.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:width-1]) + "…"
}

// pad makes s exactly width characters long, and left does so with the text at the right.
func pad(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", width-utf8.RuneCountInString(s))
}

func left(s string, width int) string {
	s = cut(s, width)
	return strings.Repeat(" ", width-utf8.RuneCountInString(s)) + s
}

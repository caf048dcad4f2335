package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

const (
	// overviewEvents is how many events the overview has, and attentionFor how long a failure that is over is shown.
	overviewEvents = 12
	attentionFor   = 30 * time.Minute
	maxAttention   = 50
	maxLately      = 10
	maxTasks       = 20
)

// lined are the series of which the list of nodes has small plots.
var lined = []string{"docs_written", "cpu"}

// reportHere returns what this node says about itself.
func (c *local) reportHere(ctx context.Context, _ struct{}) (state.Report, error) {
	r := c.o.Here.Report(ctx)
	r.Now = c.o.History.Latest()
	for name, v := range r.Now {
		r.Now[name] = rounded(v)
	}
	for i := range r.Reasons {
		r.Reasons[i] = short(r.Reasons[i])
	}
	r.Lines = map[string]state.Line{}
	for _, name := range lined {
		if _, ok := r.Now[name]; ok {
			r.Lines[name] = c.o.History.Line(name, time.Now())
		}
	}
	return r, nil
}

// rounded returns a value with four digits, so that pages are sent fewer differences that nobody sees.
func rounded(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	return math.Round(v/unit) * unit
}

// Nodes returns the members of the cluster with what they say about themselves.
func (c *Console) Nodes(ctx context.Context) ([]state.Node, []state.Absent) {
	answers, absent := gather(ctx, c, "report", struct{}{}, c.local.reportHere)
	nodes := c.o.Here.Members()
	for i := range nodes {
		n := &nodes[i]
		for _, a := range answers {
			if a.Node == n.Name {
				n.Report = a.Value
				n.Skew = rounded(a.Skew.Seconds())
			}
		}
		for _, a := range absent {
			if a.Node == n.Name {
				n.LastAnswer = a.Since
				if n.State == "ok" || n.State == "draining" {
					n.State, n.Text = "absent", "the console gets no answer from it: "+a.Reason
				}
			}
		}
		switch {
		case n.State != "ok":
		case n.Store != "":
			n.State, n.Text = "unavailable", "its store does not answer"
		case len(n.Reasons) > 0:
			n.State, n.Text = "degraded", plural(len(n.Reasons), "thing needs", "things need")+" attention"
		}
	}
	return nodes, absent
}

func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// Overview returns the first screen.
func (c *Console) Overview(ctx context.Context) state.Overview {
	o := state.Overview{Now: time.Now().UTC(), Node: c.o.Node, Attention: []state.Attention{},
		Lately: []state.Attention{}, Events: []state.Event{}}
	o.Nodes, o.Absent = c.Nodes(ctx)
	all, _ := c.All(ctx)
	folded := events.Fold(all)
	o.Events = append(o.Events, folded[:min(len(folded), overviewEvents)]...)
	for i := range o.Events {
		o.Events[i].Detail, o.Events[i].Items = short(o.Events[i].Detail), nil
	}
	o.Tasks, _ = c.Tasks(ctx)
	o.Working = len(o.Tasks)
	o.Tasks = o.Tasks[:min(o.Working, maxTasks)]
	for i := range o.Tasks {
		o.Tasks[i].Raw = nil
	}
	failing := c.contents.read(ctx, &c.o.Here, &o)
	o.Attention = attention(&o, failing, events.Stories(all))
	over := slices.IndexFunc(o.Attention, func(a state.Attention) bool { return a.Severity == state.Good })
	if over >= 0 {
		o.Attention, o.Lately = o.Attention[:over:over], o.Attention[over:]
	}
	o.Attention, o.Lately = atMost(maxAttention, o.Attention), atMost(maxLately, o.Lately)
	o.State, o.Text = verdict(&o)
	d := c.o.Here.Displaced
	switch {
	case o.State == "failed":
	case d != nil && d():
		o.State, o.Text = "degraded", "this node is not a member, because another one is called "+c.o.Node+" too"
	default:
		awaited := 0
		if c.o.Here.Awaited != nil {
			awaited = c.o.Here.Awaited()
		}
		o.Text = soFar(o.Text, awaited, unread(&o))
	}
	return o
}

// contents remembers what was last read of the store for an overview. It is safe for concurrent use.
type contents struct {
	mu struct {
		sync.Mutex
		jobs      map[string]int // not changed
		failed    int
		failing   []state.Job // some of those
		databases int
		at        time.Time // zero if it was never read
	}
}

// maxFailing is how many failing jobs an overview names.
const maxFailing = 3

// read sets what an overview says of the store's content. If that is not read in time, it is what was read last. It
// returns some of the jobs that fail.
func (k *contents) read(ctx context.Context, here *Here, o *state.Overview) (failing []state.Job) {
	// A store that does not answer does not delay the rest.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.update(ctx, here); err != nil {
		if k.mu.at.IsZero() {
			return nil
		}
		at := k.mu.at.UTC()
		o.Read = &at
	}
	databases := k.mu.databases
	o.Jobs, o.Failing, o.Databases = maps.Clone(k.mu.jobs), k.mu.failed, &databases
	return k.mu.failing
}

// update reads all of it, or changes nothing. The caller holds the lock.
func (k *contents) update(ctx context.Context, here *Here) error {
	at, jobs, failed, databases := time.Now(), map[string]int{}, 0, 0
	var failing []state.Job
	for j, err := range here.Jobs(ctx) {
		if err != nil {
			return err
		}
		if jobs[j.State]++; j.Failing() {
			failed++
			failing = firstFailing(failing, j)
		}
	}
	for _, err := range here.Databases(ctx) {
		if err != nil {
			return err
		}
		databases++
	}
	k.mu.at, k.mu.jobs, k.mu.failed, k.mu.failing, k.mu.databases = at, jobs, failed, failing, databases
	return nil
}

// firstFailing adds a job to those that an overview names: the same ones each time, in whatever order they wait.
func firstFailing(named []state.Job, j state.Job) []state.Job {
	at, _ := slices.BinarySearchFunc(named, j, func(a, b state.Job) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.ID, b.ID))
	})
	named = slices.Insert(named, at, j)
	return named[:min(len(named), maxFailing)]
}

// overviews keeps the last overview for a moment: each page asks for it, and for the verdict in it.
type overviews struct {
	mu struct {
		sync.Mutex
		last state.Overview
		at   time.Time
	}
}

// recent returns an Overview that is at most half a refresh old. The caller must not change it.
func (c *Console) recent(ctx context.Context) state.Overview {
	c.overviews.mu.Lock()
	defer c.overviews.mu.Unlock()
	if time.Since(c.overviews.mu.at) > refresh/2 {
		c.overviews.mu.last = c.Overview(context.WithoutCancel(ctx))
		c.overviews.mu.at = time.Now()
	}
	return c.overviews.mu.last
}

var ranks = map[state.Severity]int{state.Error: 0, state.Warning: 1, state.Info: 2, state.Good: 3}

// atMost returns as much of a list as is shown. The last one says how many are not.
func atMost(most int, list []state.Attention) []state.Attention {
	if len(list) <= most {
		return list
	}
	more := state.Attention{Severity: list[most-1].Severity, Link: "events", More: needing(list[most-1:]),
		Text: fmt.Sprintf("and %d more", len(list)-most+1)}
	return append(list[:most-1:most-1], more)
}

// attention returns what an operator should know, the worst first, and what is over at the end.
func attention(o *state.Overview, failing []state.Job, stories []state.Story) []state.Attention {
	list := []state.Attention{}
	reasons := map[string]int{} // what several nodes say is listed once
	shown := map[string]bool{}  // stories, by id
	work := "other nodes have its shards and jobs until it is restarted"
	if idle(o.Nodes) {
		work = "it does no background work until it is restarted"
		list = append(list, state.Attention{Severity: state.Warning, Link: "nodes",
			Text: "no node does background work, such as building indexes: all are drained; restart one"})
	}
	for _, n := range o.Nodes {
		switch {
		case n.State == "silent" || n.State == "absent":
			list = append(list, state.Attention{Severity: state.Error, Text: n.Name + ": " + n.Text, Node: n.Name,
				Link: "nodes/" + url.PathEscape(n.Name), Since: n.LastAnswer})
		case n.State == "draining":
			list = append(list, state.Attention{Severity: state.Info, Node: n.Name,
				Link: "nodes/" + url.PathEscape(n.Name),
				Text: n.Name + " is drained: " + work})
		case n.Store != "":
			a := state.Attention{Severity: state.Error, Text: n.Name + ": " + n.Store, Node: n.Name,
				Link: "nodes/" + url.PathEscape(n.Name)}
			if s := outage(stories, n.Name); s != nil {
				a.Story, a.Since, shown[s.ID] = s, &s.Began, true
			}
			list = append(list, a)
		}
		for _, reason := range n.Reasons {
			name, what, _ := strings.Cut(reason, ": ")
			if events.OfStore(name) { // a moment ago, nodes were told other figures
				reason = name
			}
			reason, _, _ = strings.Cut(reason, ", one of which answers at ") // each of two is told of the other
			if i, ok := reasons[reason]; ok {
				list[i].Node += ", " + n.Name
				continue
			}
			reasons[reason] = len(list)
			list = append(list, state.Attention{Severity: state.Error, Text: what, Node: n.Name,
				Link: "events?search=" + url.QueryEscape(name)})
		}
		if n.Skew != 0 {
			list = append(list, state.Attention{Severity: state.Warning, Node: n.Name,
				Link: "nodes/" + url.PathEscape(n.Name),
				Text: fmt.Sprintf("the clock of %s differs by %.1f s: times in its log are wrong", n.Name, n.Skew)})
		}
	}
	for i := range stories {
		s := &stories[i]
		shownFor := 24 * time.Hour
		if s.Over {
			shownFor = attentionFor
		}
		if shown[s.ID] || s.Severity == state.Info || o.Now.Sub(s.Ended) > shownFor {
			continue
		}
		began := s.Began
		severity := state.Error
		if s.Over {
			severity = state.Good
		}
		list = append(list, state.Attention{Severity: severity, Text: s.Text,
			Link: "events/" + s.ID, Since: &began, Story: s})
	}
	for _, j := range failing {
		a := state.Attention{Severity: state.Warning, Link: "jobs", Since: cmp.Or(j.FailedAt, j.Updated),
			Text: fmt.Sprintf("job %s %s has failed %s: %s", j.Type, j.ID, plural(j.Failures, "time", "times"),
				short(j.Error))}
		if j.Design != "" {
			a.Link = "databases/" + url.PathEscape(j.Database)
			a.Text = fmt.Sprintf("the build of the index %s in %s has failed %s: %s", j.Design, j.Database,
				plural(j.Failures, "time", "times"), short(j.Error))
		}
		list = append(list, a)
	}
	if more := o.Failing - len(failing); len(failing) > 0 && more > 0 {
		list = append(list, state.Attention{Severity: state.Warning, Link: "jobs?sort=failures&desc=true", More: more,
			Text: "and " + plural(more, "more job fails", "more jobs fail")})
	}
	list = append(list, skipping(o.Nodes)...)
	slices.SortStableFunc(list, func(a, b state.Attention) int {
		return cmp.Compare(ranks[a.Severity], ranks[b.Severity])
	})
	return list
}

// outage returns the story of a store that does not answer a node, unless that of a member tells it, or nil.
func outage(stories []state.Story, node string) *state.Story {
	for i := range stories {
		if s := &stories[i]; s.Member == "" && !s.Over && slices.Contains(s.Stores, node) {
			return s
		}
	}
	return nil
}

// skipping returns the indexes that lack documents, of which several nodes know.
func skipping(nodes []state.Node) (list []state.Attention) {
	known, all := map[[2]string]bool{}, 0
	for _, n := range nodes {
		all = max(all, n.Skipping)
		for _, s := range n.Skips {
			index := [2]string{s.Database, s.Design}
			if known[index] || len(known) == state.MaxSkips {
				continue
			}
			known[index] = true
			list = append(list, state.Attention{Severity: state.Warning,
				Text: fmt.Sprintf("views of %s in %s skip %s: %s", s.Design, s.Database,
					plural(int(s.Documents), "document", "documents"), short(s.Why)),
				Link: "databases/" + url.PathEscape(s.Database) + "/failures/" + url.PathEscape(s.Design)})
		}
	}
	if more := all - len(list); more > 0 {
		list = append(list, state.Attention{Severity: state.Warning, Link: "indexes?search=skipping", More: more,
			Text: plural(more, "more index skips", "more indexes skip") + " documents"})
	}
	return list
}

// idle reports whether there are nodes, but all that answer are drained.
func idle(nodes []state.Node) bool {
	drained := false
	for _, n := range nodes {
		if n.Answers() {
			return false
		}
		drained = drained || n.State == "draining"
	}
	return drained
}

// verdict says how the cluster is.
func verdict(o *state.Overview) (word, text string) {
	up, stores := 0, 0
	var away []string
	for _, n := range o.Nodes {
		switch {
		case n.Answers() || n.State == "draining":
			up++
			if n.Store == "" {
				stores++
			}
		case n.State != "gone" || n.GivenUp:
			away = append(away, n.Name)
		}
	}
	nodes := plural(up, "node", "nodes")
	switch bad := needing(o.Attention); {
	case stores == 0:
		return "failed", "no node reaches its store: requests are answered with 503"
	case bad > 0:
		return "degraded", upOf(up, away) + "; " + plural(bad, "thing needs", "things need") + " attention"
	case o.Working > 0:
		return "working", "all is well: " + nodes + ", " + plural(o.Working, "build or compaction",
			"builds and compactions")
	}
	return "ok", "all is well: " + nodes
}

// maxAway is how many nodes a verdict names that do not answer.
const maxAway = 3

// upOf says how many nodes are up, and which are not although nobody has told them to leave.
func upOf(up int, away []string) string {
	if len(away) == 0 {
		return plural(up, "node", "nodes") + " up"
	}
	slices.Sort(away)
	names, verb := strings.Join(away[:min(len(away), maxAway)], ", "), " do not answer"
	if more := len(away) - maxAway; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	} else if len(away) == 1 {
		verb = " does not answer"
	}
	return fmt.Sprintf("%d of %s up, %s%s", up, plural(up+len(away), "node", "nodes"), names, verb)
}

// soFar returns a verdict that not all is known of yet: after a start, nodes may not have been seen, and indexes not
// been read. unread tells of the latter, if it is not empty.
func soFar(text string, awaited int, unread string) string {
	if awaited == 0 && unread == "" {
		return text
	}
	text = strings.Replace(text, "all is well", "all is well so far", 1)
	if awaited > 0 {
		text += "; " + plural(awaited, "other that uses the store is", "others that use the store are") +
			" not seen yet"
	}
	if unread != "" {
		text += "; " + unread
	}
	return text
}

// unread says of how many databases no node has read the indexes yet. It is empty if one has read those of all.
func unread(o *state.Overview) string {
	least := math.MaxInt
	for _, n := range o.Nodes {
		switch {
		case n.State == "silent" || n.State == "absent" || n.State == "gone":
		case n.Unread == 0:
			return ""
		case n.Unread > 0:
			least = min(least, n.Unread)
		}
	}
	if least == math.MaxInt {
		return "no node has read the indexes yet"
	}
	databases := least
	if o.Databases != nil {
		databases = max(*o.Databases, least)
	}
	return fmt.Sprintf("the indexes of %d of %s are not read yet", least, plural(databases, "database", "databases"))
}

// needing returns how many of what an operator should know are not over.
func needing(list []state.Attention) (n int) {
	for _, a := range list {
		if a.Severity == state.Error || a.Severity == state.Warning {
			n += max(1, a.More)
		}
	}
	return n
}

package console

import (
	"context"
	"time"

	"github.com/divandb/divan/node/console/history"
	"github.com/divandb/divan/node/console/state"
)

// maxPoints is about how many values of a line are sent: a plot has no more pixels for them.
const maxPoints = 400

// PlotQuery selects series over the last time.
type PlotQuery struct {
	Series []string
	// Span is how much time: up to an hour in samples, up to a day in minutes.
	Span time.Duration
	// From, unless 0, is the time of the first value that is wanted, in seconds since 1970: a page that has the ones
	// before asks for the rest. If it is later than the last value, that one is returned, so far.
	From int64
}

// plotQuestion asks a node for its series.
type plotQuestion struct {
	Series []string      `json:"series"`
	Range  history.Range `json:"range"`
	// Now is the time of the node that asks. A node whose clock differs answers for the same moments.
	Now time.Time `json:"now"`
}

func (c *local) plotsHere(_ context.Context, q plotQuestion) (map[string]state.Values, error) {
	ahead := time.Since(q.Now)
	if ahead.Abs() < 2*patience {
		ahead = 0 // the time that the question took
	}
	return c.o.History.Read(q.Series, q.Range.Shift(ahead)), nil
}

// Plots returns series of all nodes. Of a long time it combines as many values into one as make at most maxPoints. The
// last one is that of the time so far.
func (c *Console) Plots(ctx context.Context, q PlotQuery) state.Plots {
	now := time.Now()
	// Of a later step some nodes may not have a value yet, so that a sum would lack them.
	r := history.Last(now.Add(-history.Measured), q.Span)
	r, each := r.Coarse(maxPoints)
	step := r.Step * each
	if from := min(q.From, r.End()/step*step); from > r.Start { // the sum cannot overflow
		later := (from - r.Start + step - 1) / step * each
		r.Start += later * r.Step
		r.Count -= later
	}
	answers, absent := gather(ctx, c, "plots", plotQuestion{q.Series, r, now}, c.local.plotsHere)
	out := state.Plots{Start: r.Start, Step: step, Plots: []state.Plot{}, Absent: absent}
	for _, name := range q.Series {
		s, ok := history.Find(name)
		if !ok {
			continue
		}
		p := state.Plot{Series: s, Nodes: []state.PlotLine{}}
		var all []state.Values
		for _, a := range answers {
			if values, ok := a.Value[name]; ok {
				values = history.Thin(s.How, values, each)
				p.Nodes = append(p.Nodes, state.PlotLine{Node: a.Node, Values: values})
				all = append(all, values)
			}
		}
		p.All = history.Combine(s.How, all)
		out.Plots = append(out.Plots, p)
	}
	return out
}

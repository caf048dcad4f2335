package console

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// trailStep is the time between two values of a trail.
	trailStep = 15 * time.Second
	// maxTrails bounds the databases with trails; each takes half a kilobyte.
	maxTrails = 2000
)

// trails keep what was done in databases in the last quarter of an hour. They are safe for concurrent use.
type trails struct {
	mu struct {
		sync.Mutex
		at     time.Time
		begun  int64          // the first step of which there are values
		before map[string]Use // by database, without those that were not used
		// earlier is what before was until at.
		earlier   map[string]Use
		earlierAt time.Time
		of        map[string]*trail
	}
}

// trail has the rates of a database, the newest at step last.
type trail struct {
	writes, feed [state.LinePoints]float32
	last         int64
}

// Sample notes what was done in databases since the last call. The node calls it every few seconds.
func (c *Console) Sample(now time.Time) { c.local.trails.sample(now, c.o.Here.Used) }

func (t *trails) sample(now time.Time, used func(visit func(string, Use))) {
	t.mu.Lock()
	defer t.mu.Unlock()
	step := int64(trailStep / time.Second)
	passed := now.Sub(t.mu.at)
	if at := now.Unix() / step; t.mu.before != nil && at == t.mu.at.Unix()/step && passed >= 0 {
		return
	}
	usable := t.mu.before != nil && passed > 0 && passed <= 4*trailStep
	after := map[string]Use{}
	at := now.Unix() / step
	if !usable {
		t.mu.begun, t.mu.of = at+1, map[string]*trail{}
	}
	used(func(name string, done Use) {
		if done == (Use{}) {
			return
		}
		after[name] = done
		r := done.rates(t.mu.before[name], passed)
		if !usable || r.Writes == 0 && r.Feed == 0 {
			return
		}
		x := t.mu.of[name]
		if x == nil {
			if len(t.mu.of) >= maxTrails {
				return
			}
			x = &trail{last: at - 1}
			t.mu.of[name] = x
		}
		x.add(at, float32(r.Writes), float32(r.Feed))
	})
	for name, x := range t.mu.of {
		if at-x.last >= state.LinePoints || x.last > at {
			delete(t.mu.of, name) // nothing to draw any more, or the clock was set back
		}
	}
	t.mu.earlier, t.mu.earlierAt = t.mu.before, t.mu.at
	t.mu.at, t.mu.before = now, after
}

// earlierUse returns what was done in databases until some moment within the last two steps, or nil if that is not
// known yet. The caller must not change it.
func (t *trails) earlierUse() (map[string]Use, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.earlier != nil {
		return t.mu.earlier, t.mu.earlierAt
	}
	return t.mu.before, t.mu.at
}

func (x *trail) add(at int64, writes, feed float32) {
	for s := max(x.last+1, at-state.LinePoints+1); s < at; s++ {
		x.writes[s%state.LinePoints], x.feed[s%state.LinePoints] = 0, 0
	}
	x.writes[at%state.LinePoints], x.feed[at%state.LinePoints] = writes, feed
	x.last = at
}

// trailQuestion asks a node for trails up to a moment.
type trailQuestion struct {
	Names []string `json:"names"`
	At    int64    `json:"at"` // in seconds since 1970
}

// Trail are the rates of a database, the oldest first.
type Trail struct {
	Writes state.Values `json:"w"`
	Feed   state.Values `json:"f"`
}

// trailsHere returns the trails of databases that have any.
func (c *local) trailsHere(_ context.Context, q trailQuestion) (map[string]Trail, error) {
	t := &c.trails
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]Trail{}
	newest := min(q.At, t.mu.at.Unix()) / int64(trailStep/time.Second)
	for _, name := range q.Names {
		x := t.mu.of[name]
		if x == nil {
			continue
		}
		out := Trail{make(state.Values, state.LinePoints), make(state.Values, state.LinePoints)}
		for i := range state.LinePoints {
			at := newest - state.LinePoints + 1 + int64(i)
			switch {
			case at < t.mu.begun:
				out.Writes[i], out.Feed[i] = float32(math.NaN()), float32(math.NaN())
				continue
			case at > x.last || at <= x.last-state.LinePoints:
				continue // nothing was done
			}
			out.Writes[i], out.Feed[i] = x.writes[at%state.LinePoints], x.feed[at%state.LinePoints]
		}
		found[name] = out
	}
	return found, nil
}

// addLines adds small plots of what all nodes did to rows.
func addLines(ctx context.Context, c *Console, rows []state.Database) {
	q := trailQuestion{At: time.Now().Unix()}
	for i := range rows {
		q.Names = append(q.Names, rows[i].Name)
	}
	answers, _ := gather(ctx, c, "trails", q, c.local.trailsHere)
	for i := range rows {
		var writes, feed state.Values
		for _, a := range answers {
			if of, ok := a.Value[rows[i].Name]; ok {
				writes, feed = plus(writes, of.Writes), plus(feed, of.Feed)
			}
		}
		rows[i].WriteLine, rows[i].FeedLine = line(writes), line(feed)
	}
}

// plus adds values up. NaN is unknown.
func plus(a, b state.Values) state.Values {
	if len(a) != len(b) {
		return b
	}
	for i, v := range b {
		switch {
		case math.IsNaN(float64(a[i])):
			a[i] = v
		case !math.IsNaN(float64(v)):
			a[i] += v
		}
	}
	return a
}

// line returns a Line, or nil if there is nothing to draw.
func line(v state.Values) *state.Line {
	l := state.NewLine(v)
	if l.Top == 0 || math.IsNaN(l.Top) {
		return nil
	}
	l.Top = rounded(l.Top)
	return &l
}

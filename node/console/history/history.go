// Package history keeps a node's measurements in memory: an hour of samples, one every five seconds, and a day of
// minutes. The series are fixed, and so is the memory, less than 2 MB.
package history

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// Step is the time between two samples.
	Step = 5 * time.Second
	// samples and minutes are how many of each are kept.
	samples = int64(time.Hour / Step)
	minutes = int64(24 * time.Hour / time.Minute)

	perStep   = int64(Step / time.Second)
	perMinute = int64(time.Minute / time.Second)
	// longest is the longest time between two readings of a counter from which a rate is computed. After a longer one
	// there is a gap.
	longest = 4 * Step
)

// Reading is what was measured at one moment: counters as they are, and other values. The order is that of Series.
type Reading []float64

// ring has values of one series by time, in units of a step.
type ring struct {
	values []float32
	last   int64 // time of the newest value
}

// History keeps the series of a node. It is safe for concurrent use.
type History struct {
	mu struct {
		sync.Mutex
		fine   []ring // by series
		coarse []ring
		before Reading   // the last one
		at     time.Time // of before
		begun  int64     // the minute of the sums
		sums   []sum     // of the current minute, by series
	}
}

// sum combines the samples of a minute.
type sum struct {
	n          int
	total      float64
	least, top float64
}

// New returns a History without values.
func New() *History {
	h := &History{}
	n := len(series)
	h.mu.fine, h.mu.coarse = rings(n, samples), rings(n, minutes)
	h.mu.sums = make([]sum, n)
	return h
}

func rings(n int, length int64) []ring {
	all := make([]ring, n)
	values := make([]float32, int64(n)*length)
	for i := range values {
		values[i] = nan
	}
	for i := range all {
		all[i].values = values[int64(i)*length : int64(i+1)*length : int64(i+1)*length]
	}
	return all
}

var nan = float32(math.NaN())

// set sets a value, and marks the times since the last one as gaps.
func (r *ring) set(at int64, v float32) {
	n := int64(len(r.values))
	if at < r.last { // the clock was set back
		for i := range r.values {
			r.values[i] = nan
		}
		r.last = at
	}
	for t := max(r.last+1, at-n+1); t < at; t++ {
		r.values[t%n] = nan
	}
	r.last = at
	r.values[at%n] = v
}

// get returns a value, or NaN.
func (r *ring) get(at int64) float32 {
	n := int64(len(r.values))
	if at > r.last || at <= r.last-n || at < 0 {
		return nan
	}
	return r.values[at%n]
}

// Run reads a node in the middle of every Step until ctx ends. read must not block for long.
func (h *History) Run(ctx context.Context, read func() Reading) {
	h.Add(time.Now(), read())
	wait := time.NewTimer(untilMiddle(time.Now()))
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
			h.Add(time.Now(), read())
			wait.Reset(untilMiddle(time.Now()))
		}
	}
}

// untilMiddle returns the time until the middle of this step, or of the next one. All nodes are read at that time, so
// that their sums are of one moment, and it is far from the ends of the step, so that none is missed or has two.
func untilMiddle(now time.Time) time.Duration {
	into := time.Duration(now.UnixNano()) % Step
	if into < Step/2 {
		return Step/2 - into
	}
	return Step + Step/2 - into
}

// Measured is how long after the begin of a step all nodes have its value.
const Measured = Step/2 + 500*time.Millisecond

// Add adds a reading. It panics if the reading does not have a value for each series.
func (h *History) Add(now time.Time, r Reading) {
	if len(r) != len(series) {
		panic("history: a reading with the wrong number of values")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	passed := now.Sub(h.mu.at)
	usable := h.mu.before != nil && passed > 0 && passed <= longest
	at := now.Unix() / perStep
	if minute := now.Unix() / perMinute; minute != h.mu.begun {
		h.endMinute()
		h.mu.begun = minute
	}
	for i := range series {
		v := r[i]
		if series[i].counter {
			v = math.NaN()
			if usable && r[i] >= h.mu.before[i] { // not after a restart of what is counted
				v = (r[i] - h.mu.before[i]) / passed.Seconds()
			}
		}
		h.mu.fine[i].set(at, float32(v))
		h.mu.sums[i].add(v)
	}
	h.mu.before, h.mu.at = r, now
}

// endMinute stores the sums of a minute that is over.
func (h *History) endMinute() {
	for i := range h.mu.sums {
		if s := &h.mu.sums[i]; s.n > 0 {
			h.mu.coarse[i].set(h.mu.begun, s.value(series[i].How))
			*s = sum{}
		}
	}
}

func (s *sum) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if s.n == 0 {
		s.least, s.top = v, v
	}
	s.n++
	s.total += v
	s.least, s.top = min(s.least, v), max(s.top, v)
}

func (s *sum) value(how state.How) float32 {
	switch {
	case s.n == 0:
		return nan
	case how == state.Max:
		return float32(s.top)
	case how == state.Min:
		return float32(s.least)
	}
	return float32(s.total / float64(s.n))
}

// Range is a range of times: values at Start, Start+Step ... Start+(Count-1)*Step, in seconds since 1970.
type Range struct {
	Start int64 `json:"start"`
	Step  int64 `json:"step"` // that of samples or of minutes
	Count int64 `json:"count"`
}

// Last returns the range of the last span before now, in samples if these are kept for so long, otherwise in minutes.
func Last(now time.Time, span time.Duration) Range {
	step, most := perStep, samples
	if span > time.Hour {
		step, most = perMinute, minutes
	}
	n := min(max(1, int64(span/time.Second)/step), most)
	return Range{Start: (now.Unix()/step - n + 1) * step, Step: step, Count: n}
}

// End returns the time of the last value.
func (g Range) End() int64 { return g.Start + (g.Count-1)*g.Step }

// Coarse returns how many values are to be combined so that there are at most most, and the range that begins with the
// first of so many. These are the same ones whenever it is asked.
func (g Range) Coarse(most int64) (Range, int64) {
	each := (g.Count + most - 1) / most
	step, end := g.Step*each, g.End()
	g.Start = (end/step - (g.Count+each-1)/each + 1) * step
	g.Count = (end-g.Start)/g.Step + 1
	return g, each
}

// Shift returns the range by a clock that is ahead.
func (g Range) Shift(ahead time.Duration) Range {
	g.Start += int64(ahead.Round(time.Duration(g.Step)*time.Second) / time.Second)
	return g
}

// Valid reports whether a History can have values of the range.
func (g Range) Valid() bool {
	return (g.Step == perStep || g.Step == perMinute) && g.Count > 0 && g.Count <= minutes && g.Start > 0
}

// Read returns the values of some series, by name. Unknown names are left out. Of the current minute there is the value
// so far.
func (h *History) Read(names []string, g Range) map[string]state.Values {
	h.mu.Lock()
	defer h.mu.Unlock()
	found := map[string]state.Values{}
	for _, name := range names {
		i, ok := index[name]
		if !ok || !g.Valid() {
			continue
		}
		r := &h.mu.fine[i]
		if g.Step == perMinute {
			r = &h.mu.coarse[i]
		}
		values := make(state.Values, g.Count)
		for k := range values {
			at := g.Start/g.Step + int64(k)
			if values[k] = r.get(at); g.Step == perMinute && at == h.mu.begun {
				values[k] = h.mu.sums[i].value(series[i].How)
			}
		}
		found[name] = values
	}
	return found
}

// Latest returns the newest value of each series that has one.
func (h *History) Latest() map[string]float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	values := map[string]float64{}
	for i := range series {
		r := &h.mu.fine[i]
		if v := r.get(r.last); !math.IsNaN(float64(v)) {
			values[series[i].Name] = float64(v)
		}
	}
	return values
}

// Line returns the last quarter of an hour of a series as a small plot.
func (h *History) Line(name string, now time.Time) state.Line {
	const span = 15 * time.Minute
	values := h.Read([]string{name}, Last(now, span))[name]
	each := max(1, len(values)/state.LinePoints)
	short := Thin(state.Mean, values[:len(values)/each*each], int64(each))
	return state.NewLine(short)
}

// Thin returns the values of a node with each so many combined into one. The last one may be of fewer.
func Thin(how state.How, values state.Values, each int64) state.Values {
	if each <= 1 {
		return values
	}
	out := make(state.Values, 0, int64(len(values))/each+1)
	for some := range slices.Chunk(values, int(each)) {
		var s sum
		for _, v := range some {
			s.add(float64(v))
		}
		out = append(out, s.value(how))
	}
	return out
}

// Combine returns the values of several nodes as one.
func Combine(how state.How, all []state.Values) state.Values {
	length := 0
	for _, v := range all {
		length = max(length, len(v))
	}
	out := make(state.Values, length)
	for i := range out {
		var s sum
		for _, v := range all {
			if i < len(v) {
				s.add(float64(v[i]))
			}
		}
		out[i] = s.value(how)
		if how == state.Sum && s.n > 0 {
			out[i] = float32(s.total)
		}
	}
	return out
}

package state

import "math"

// Series describes a series of values that nodes keep.
type Series struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Unit  string `json:"unit"` // "", "/s", "s", "ms", "B", "%"
	// How says how the values of one node become one of a minute, and those of nodes one of the cluster.
	How How `json:"how"`
}

// How says how values are combined.
type How string

// The ways to combine values.
const (
	Sum  How = "sum"  // the mean over time, the sum over nodes
	Max  How = "max"  // the largest
	Min  How = "min"  // the smallest
	Mean How = "mean" // the mean
)

// Plots are series of all nodes over one range of time.
type Plots struct {
	// Start is the time of the first value, in seconds since 1970, and Step the seconds between two values.
	Start  int64    `json:"start"`
	Step   int64    `json:"step"`
	Plots  []Plot   `json:"plots"`
	Absent []Absent `json:"absent"`
}

// Plot is one series of all nodes.
type Plot struct {
	Series
	Nodes []PlotLine `json:"nodes"`
	// All are the values of the nodes together.
	All Values `json:"all"`
}

// PlotLine is one series of one node.
type PlotLine struct {
	Node   string `json:"node"`
	Values Values `json:"values"`
}

// Line is a small plot of the last quarter of an hour, in a form that is short when it is sent again after each value.
type Line struct {
	// Top is the largest value.
	Top float64 `json:"top"`
	// Heights has a character for each value, the oldest first: 0-9A-Za-z from 0 to Top, and a dot for a gap.
	Heights string `json:"heights"`
}

// LinePoints is the number of values of a Line.
const LinePoints = 60

const heights = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewLine returns the Line of some values. A value above 0 is never drawn as 0.
func NewLine(values Values) Line {
	top := 0.0
	for _, v := range values {
		if f := float64(v); f > top && !math.IsInf(f, 0) {
			top = f
		}
	}
	text := make([]byte, len(values))
	for i, v := range values {
		switch f := float64(v); {
		case math.IsNaN(f):
			text[i] = '.'
		case f <= 0 || top == 0:
			text[i] = heights[0]
		default:
			text[i] = heights[1+int(math.Round(min(f/top, 1)*float64(len(heights)-2)))]
		}
	}
	return Line{Top: top, Heights: string(text)}
}

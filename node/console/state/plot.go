package state

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

package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// Of is what each node says about one of its parts.
type Of[T any] struct {
	Now    time.Time      `json:"now"`
	Nodes  []T            `json:"nodes"`
	Absent []state.Absent `json:"absent"`
}

// ofNodes asks each node about one of its parts.
func ofNodes[T any](ctx context.Context, c *Console, ask string,
	here func(context.Context, struct{}) (T, error)) Of[T] {
	answers, absent := gather(ctx, c, ask, struct{}{}, here)
	out := Of[T]{Now: time.Now().UTC(), Nodes: []T{}, Absent: absent}
	for _, a := range answers {
		out.Nodes = append(out.Nodes, a.Value)
	}
	return out
}

func (c *local) storageHere(ctx context.Context, _ struct{}) (state.Storage, error) {
	s := c.o.Here.Storage(ctx)
	now := c.o.History.Latest()
	for name, to := range map[string]**float64{"commit_p50": &s.P50, "commit_p99": &s.P99} {
		if v, ok := now[name]; ok {
			v = rounded(v)
			*to = &v
		}
	}
	s.Error = short(withoutView(s.Error))
	s.Compact.LastError = short(withoutView(s.Compact.LastError))
	for i := range s.Reasons {
		s.Reasons[i] = short(withoutView(s.Reasons[i]))
	}
	return s, nil
}

// withoutView leaves out of what is wrong with a store that the view Storage says more, for that view.
func withoutView(text string) string {
	at := strings.Index(text, "the view Storage")
	if at < 0 {
		at = strings.Index(text, "The view Storage")
	}
	if at < 0 {
		return text
	}
	if end := strings.LastIndexAny(text[:at], ".;"); end >= 0 {
		return text[:end] + "."
	}
	return text
}

// Stores are what all nodes say about their stores, and what FoundationDB says about itself if the store is there.
type Stores struct {
	Of[state.Storage]
	Cluster *state.StoreCluster `json:"cluster,omitempty"`
	// Unknown is why Cluster is absent although the store is FoundationDB.
	Unknown string `json:"cluster_unknown,omitempty"`
}

// Storage returns what all nodes say about their stores.
func (c *Console) Storage(ctx context.Context) Stores {
	out := Stores{Of: ofNodes(ctx, c, "storage", c.local.storageHere)}
	if c.o.Here.Cluster == nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := c.o.Here.Cluster(ctx)
	if err != nil {
		out.Unknown = short(withoutView(c.o.told(err)))
		return out
	}
	if cluster != nil {
		for i := range cluster.Messages {
			cluster.Messages[i] = short(cluster.Messages[i])
		}
	}
	out.Cluster = cluster
	return out
}

func (c *local) scriptsHere(context.Context, struct{}) (state.Scripts, error) {
	return c.o.Here.Scripts(), nil
}

// Scripts returns what all nodes do in JavaScript.
func (c *Console) Scripts(ctx context.Context) Of[state.Scripts] {
	return ofNodes(ctx, c, "scripts", c.local.scriptsHere)
}

func (c *local) settingsHere(context.Context, struct{}) ([]state.Setting, error) {
	list := c.o.Here.Settings()
	for i := range list {
		list[i].Value = short(list[i].Value)
	}
	return list, nil
}

var settingTable = table.Table[state.Setting]{
	Columns: map[string]func(*state.Setting) table.Key{
		"name":  text(func(s *state.Setting) string { return s.Name }),
		"value": text(func(s *state.Setting) string { return s.Value }),
		"changed": number(func(s *state.Setting) int {
			if s.Changed {
				return 1
			}
			return 0
		}),
	},
	Default: "name",
	ID:      func(s *state.Setting) string { return s.Name + "\x00" + s.Value },
	Search: func(s *state.Setting) []string {
		words := append([]string{s.Name, s.Value}, s.Nodes...)
		if s.Changed {
			words = append(words, "changed")
		}
		return words
	},
}

// Settings returns a page of the settings in force on all nodes. A setting that has several values is listed with each.
func (c *Console) Settings(ctx context.Context, q table.Query) (List[state.Setting], error) {
	answers, absent := gather(ctx, c, "settings", struct{}{}, c.local.settingsHere)
	var all []state.Setting
	at := map[[2]string]int{} // by name and value
	for _, a := range answers {
		for _, s := range a.Value {
			id := [2]string{s.Name, s.Value}
			i, ok := at[id]
			if !ok {
				i = len(all)
				at[id] = i
				s.Changed, s.Nodes = s.Value != s.Default, nil
				all = append(all, s)
			}
			all[i].Nodes = append(all[i].Nodes, a.Node)
		}
	}
	slices.SortStableFunc(all, func(a, b state.Setting) int { return strings.Compare(a.Name, b.Name) })
	page, err := settingTable.Select(slices.Values(all), q)
	return List[state.Setting]{Page: page, Now: time.Now().UTC(), Absent: absent}, err
}

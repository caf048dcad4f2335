package console

import (
	"context"
	"iter"
	"time"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// TreeQuery selects actors by their place in the supervision trees: the children of an actor, or, with an empty Parent,
// the roots. With an ID it selects that actor alone.
type TreeQuery struct {
	table.Query
	Node   string `json:"node"` // empty: all nodes
	Parent string `json:"parent"`
	ID     string `json:"id"`
}

// treeTable lists actors with what is not well first.
var treeTable = table.Table[state.Actor]{
	Columns:     actorTable.Columns,
	Default:     "unwell",
	DefaultDesc: true,
	ID:          actorTable.ID,
	Search:      actorTable.Search,
}

// Tree returns a page of actors with what is below them.
func Tree(ctx context.Context, c *Console, q TreeQuery) (List[state.Actor], error) {
	if err := treeTable.Check(q.Query); err != nil {
		return List[state.Actor]{}, err
	}
	answers, absent := gather(ctx, c, "tree", q, c.local.treeHere)
	pages := make([]table.Page[state.Actor], len(answers))
	for i, a := range answers {
		pages[i] = a.Value
	}
	page, err := treeTable.Merge(pages, q.Query)
	return List[state.Actor]{Page: page, Now: time.Now().UTC(), Absent: absent}, err
}

func (c *local) treeHere(_ context.Context, q TreeQuery) (table.Page[state.Actor], error) {
	rows := func(func(state.Actor) bool) {}
	if q.Node == "" || q.Node == c.o.Node {
		rows = inTree(c.o.Here.Actors(), q)
	}
	p, err := treeTable.Select(rows, q.Query)
	lookAt(p.Rows)
	return p, err
}

// inTree returns the actors that a query selects, with the numbers of actors below them. An actor comes after its
// parent in all.
func inTree(all iter.Seq[state.Actor], q TreeQuery) iter.Seq[state.Actor] {
	var found []state.Actor
	at := map[string]int{} // of an actor and of those below it: where it, or the one it is below, is in found
	for a := range all {
		selected := a.Parent == q.Parent
		if q.ID != "" {
			selected = a.ID == q.ID
		}
		if selected {
			at[a.ID] = len(found)
			found = append(found, a)
			continue
		}
		i, ok := at[a.Parent]
		if !ok {
			continue
		}
		at[a.ID] = i
		found[i].Below++
		if !well(&a) {
			found[i].Unwell++
		}
	}
	return func(yield func(state.Actor) bool) {
		for _, a := range found {
			if !yield(a) {
				return
			}
		}
	}
}

// well reports whether an actor neither restarts nor has failed within the last minute.
func well(a *state.Actor) bool { return a.Recent == 0 && a.State != "restarting" }

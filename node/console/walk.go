package console

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/divandb/divan/node/console/state"
	"github.com/divandb/divan/node/console/table"
)

// actorsQuestion asks a node for a page of its actors. A node of version 0.2.0 knows only the Query, and answers that.
type actorsQuestion struct {
	table.Query
	// Walk asks for the actors in the order of the tree, for which a node need not look at all of them for each page.
	// The query then only has the limit.
	Walk *walk `json:"walk,omitempty"`
}

// walk is how far a walk through the tree of a node's actors has come.
type walk struct {
	Behind []string `json:"behind"` // the place of the last actor; nil at the beginning
}

// actorsAnswer is a page. Next is a cursor of the table, and empty in a walk.
type actorsAnswer struct {
	table.Page[state.Actor]
	// Walked is where the walk goes on, without a place at its end. It is nil if none was asked for or the node knows
	// none.
	Walked *walk `json:"walked,omitempty"`
}

// actorsAsked answers another node.
func (c *local) actorsAsked(ctx context.Context, q actorsQuestion) (a actorsAnswer, err error) {
	if q.Walk == nil {
		a.Page, err = c.actorsHere(ctx, q.Query)
		return a, err
	}
	if err := actorTable.Check(q.Query); err != nil {
		return a, err
	}
	rows := make([]state.Actor, 0, q.Limit)
	at := c.o.Here.ActorsBehind(q.Walk.Behind, func(row state.Actor) bool {
		rows = append(rows, row)
		return len(rows) < q.Limit
	})
	lookAt(rows)
	a.Rows, a.Walked = rows, &walk{at}
	return a, nil
}

// EachActor calls visit for all actors until it returns false: those of this node, then those of the others by node, in
// any order. A node that stops answering is left out from there on.
func (c *Console) EachActor(ctx context.Context, visit func(state.Actor) bool) error {
	for a := range c.o.Here.Actors() {
		complete(&a)
		if !visit(a) || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	others := c.peers.Others()
	slices.Sort(others)
	for _, node := range others {
		if !c.peers.eachActor(ctx, node, visit) {
			break
		}
	}
	return ctx.Err()
}

// eachActor calls visit for the actors of another node. It returns false if visit has or ctx has ended.
func (p *peers) eachActor(ctx context.Context, node string, visit func(state.Actor) bool) bool {
	q := actorsQuestion{Query: table.Query{Sort: "node", Limit: eachLimit}, Walk: &walk{}}
	for first := true; ; first = false {
		a, err := p.actors(ctx, node, q)
		if err != nil || q.Walk != nil && a.Walked == nil && !first {
			return ctx.Err() == nil // it does not answer any more, or has gone back to a version that knows no walks
		}
		for _, row := range a.Rows {
			if !visit(row) {
				return false
			}
		}
		q.After, q.Walk = a.Next, a.Walked
		if q.After == "" && (q.Walk == nil || q.Walk.Behind == nil) || ctx.Err() != nil {
			return ctx.Err() == nil
		}
	}
}

// actors asks another node for a page of its actors.
func (p *peers) actors(ctx context.Context, node string, q actorsQuestion) (a actorsAnswer, err error) {
	request, err := encodeQuestion("actors", q)
	if err != nil {
		return a, err
	}
	r, _, err := p.ask(ctx, node, request)
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(r.Value, &a)
}

package console

import (
	"context"
	"encoding/json"
	"errors"
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
// any order. A node that stops answering is left out from there on, and returned.
func (c *Console) EachActor(ctx context.Context, visit func(state.Actor) bool) (absent []state.Absent, err error) {
	for a := range c.o.Here.Actors() {
		complete(&a)
		if !visit(a) || ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	others := c.peers.Others()
	slices.Sort(others)
	for _, node := range others {
		more, err := c.peers.eachActor(ctx, node, visit)
		if err != nil && ctx.Err() == nil {
			absent = append(absent, c.peers.absent(node, err))
		}
		if !more {
			break
		}
	}
	return absent, ctx.Err()
}

// eachActor calls visit for the actors of another node. more is false if visit has returned it or ctx has ended. The
// error says why the node does not answer any more.
func (p *peers) eachActor(ctx context.Context, node string, visit func(state.Actor) bool) (more bool, err error) {
	q := actorsQuestion{Query: table.Query{Sort: "node", Limit: eachLimit}, Walk: &walk{}}
	for first := true; ; first = false {
		a, err := p.actors(ctx, node, q)
		if err == nil && q.Walk != nil && a.Walked == nil && !first {
			err = errNoWalks
		}
		if err != nil {
			return ctx.Err() == nil, err
		}
		for _, row := range a.Rows {
			if !visit(row) {
				return false, nil
			}
		}
		q.After, q.Walk = a.Next, a.Walked
		if q.After == "" && (q.Walk == nil || q.Walk.Behind == nil) || ctx.Err() != nil {
			return ctx.Err() == nil, ctx.Err()
		}
	}
}

var errNoWalks = errors.New("it was replaced by an earlier version meanwhile")

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

package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// every is the time between two rounds of writes.
const every = 250 * time.Millisecond

// maxOpenOrders is how many new orders wait for their next status.
const maxOpenOrders = 200

// traffic writes a little as long as the demo runs: new orders, their next status, and what the sensors measure.
type traffic struct {
	nodes  []*client // one after the other writes
	g      *generator
	people []customer
	next   int // the number of the next order
	open   []order
	turn   int
}

// newTraffic returns traffic for the databases as they are.
func newTraffic(ctx context.Context, nodes []*client, g *generator) (*traffic, error) {
	t := &traffic{nodes: nodes, g: g}
	var rows struct {
		Rows []struct {
			ID  string
			Doc customer
		}
	}
	read := "/" + shop + "/_all_docs?include_docs=true&endkey=%22customer.%22&limit=1000"
	if err := nodes[0].send(ctx, http.MethodGet, read, nil, &rows); err != nil {
		return nil, err
	}
	for _, row := range rows.Rows {
		if row.Doc.Type == "customer" {
			t.people = append(t.people, row.Doc)
		}
	}
	if len(t.people) == 0 {
		return nil, errors.New("database " + shop + " has no customers; use an empty directory")
	}
	rows.Rows = nil
	last := "/" + shop + "/_all_docs?descending=true&limit=1&startkey=%22order-~%22"
	if err := nodes[0].send(ctx, http.MethodGet, last, nil, &rows); err != nil {
		return nil, err
	}
	if len(rows.Rows) == 1 {
		if _, err := fmt.Sscanf(rows.Rows[0].ID, "order-%d", &t.next); err == nil {
			t.next++
		}
	}
	return t, nil
}

// run writes until ctx ends. What one node does not take, because it was stopped, the next one gets.
func (t *traffic) run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-tick.C:
			t.g.now = at.UTC()
			c := t.nodes[t.turn%len(t.nodes)]
			t.turn++
			// An error concerns this round only: the node that did not answer shows in the console.
			_ = t.round(ctx, c, at)
		}
	}
}

func (t *traffic) round(ctx context.Context, c *client, at time.Time) error {
	o := t.g.order(t.next, t.people, 0)
	t.next++
	var written struct{ Rev string }
	if err := c.send(ctx, http.MethodPut, "/"+shop+"/"+o.ID, o, &written); err != nil {
		return err
	}
	o.Rev = written.Rev
	t.open = append(t.open, o)
	if err := t.advance(ctx, c); err != nil {
		return err
	}
	var readings []doc
	for room := range rooms {
		if t.g.random.IntN(4) == 0 {
			readings = append(readings, t.g.reading(room, at))
		}
	}
	if len(readings) == 0 {
		return nil
	}
	return c.bulk(ctx, sensors, readings)
}

// advance gives one of the open orders its next status.
func (t *traffic) advance(ctx context.Context, c *client) error {
	if len(t.open) > maxOpenOrders {
		t.open = t.open[1:]
	}
	i := t.g.random.IntN(len(t.open))
	o := t.open[i]
	for n, status := range statuses[:len(statuses)-1] {
		if o.Status == status {
			o.Status = statuses[n+1]
			break
		}
	}
	var written struct{ Rev string }
	err := c.send(ctx, http.MethodPut, "/"+shop+"/"+o.ID, o, &written)
	if err != nil || o.Status == statuses[len(statuses)-1] {
		// It was delivered, or somebody else has changed it.
		t.open = append(t.open[:i], t.open[i+1:]...)
		return err
	}
	o.Rev = written.Rev
	t.open[i] = o
	return nil
}

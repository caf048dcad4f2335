package console

import (
	"context"
	"encoding/json"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
)

// Options of New. Node, Events and History are required.
type Options struct {
	Node  string // this node's name
	Peers Peers  // nil: there are no others
	// Events are this node's events, and History its measurements.
	Events  *events.Recorder
	History *history.History
}

// Console is one node's part of the console. It is safe for concurrent use.
type Console struct {
	o       Options
	peers   *peers
	answers map[string]func(ctx context.Context, from string, of json.RawMessage) (any, error)
}

// New returns a Console.
func New(o Options) *Console {
	if o.Peers == nil {
		o.Peers = alone{}
	}
	c := &Console{o: o, peers: &peers{Peers: o.Peers}}
	c.answers = map[string]func(context.Context, string, json.RawMessage) (any, error){
		"events": answering(c.eventsHere),
		"plots":  answering(c.plotsHere),
	}
	return c
}

// alone has no other members.
type alone struct{}

func (alone) Others() []string { return nil }

func (alone) Request(context.Context, string, []byte) ([]byte, error) { return nil, errNoAnswer }

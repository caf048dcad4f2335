package console

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/history"
)

// Options of New. All but Peers are required.
type Options struct {
	Node  string // this node's name
	Peers Peers  // nil: there are no others
	// Events are this node's events, and History its measurements.
	Events  *events.Recorder
	History *history.History
	// Here reads the parts of this node.
	Here Here
	// Acts are what can be done on this node.
	Acts Acts
	// SQL runs a statement, and cancels it when ctx ends. It returns the statement's error as a *state.SQLError.
	SQL func(ctx context.Context, s Statement, to Results) error
	// Plain says in plain words what an error of the store means and what to do, or returns "" for others. May be nil.
	Plain func(err error) string
	// User returns the name of the user of a request. Still reports whether its user may still see the console: while
	// a page is open, the user's password or session can end.
	User  func(ctx context.Context) string
	Still func(r *http.Request) bool
	// From returns the address that a request comes from.
	From func(r *http.Request) string
	// Secret is known to the nodes of the cluster alone, and the same on all of them. It is asked for when there is a
	// request.
	Secret func() []byte
}

// Console is one node's part of the console. It is safe for concurrent use.
type Console struct {
	o       Options
	peers   *peers
	answers map[string]func(ctx context.Context, from string, of json.RawMessage) (any, error)
	local   *local
	known   known
	tokens  *tokens

	overviews overviews
	contents  contents
	conflicts conflicts
	failures  failures

	streams chan struct{} // has an element for each stream to a page
	closing chan struct{} // closed by Close
	once    sync.Once
}

// local answers for this node alone. It is safe for concurrent use.
type local struct {
	o      Options
	usage  usage
	trails trails
}

// New returns a Console.
func New(o Options) *Console {
	if o.Peers == nil {
		o.Peers = alone{}
	}
	c := &Console{o: o, local: &local{o: o}, tokens: &tokens{o.Secret}, peers: &peers{Peers: o.Peers},
		closing: make(chan struct{}), streams: make(chan struct{}, maxStreams)}
	c.answers = map[string]func(context.Context, string, json.RawMessage) (any, error){
		"events": answering(c.local.eventsHere),
		"plots":  answering(c.local.plotsHere),

		"report":   answering(c.local.reportHere),
		"actors":   answering(c.local.actorsAsked),
		"tree":     answering(c.local.treeHere),
		"sessions": answering(c.local.sessionsHere),
		"shards":   answering(c.local.shardsHere),
		"indexes":  answering(c.local.indexesHere),
		"tasks":    answering(c.local.tasksHere),
		"used":     answering(c.local.usedHere),
		"trails":   answering(c.local.trailsHere),
		"act":      answering(c.local.actAsked),
		"storage":  answering(c.local.storageHere),
		"scripts":  answering(c.local.scriptsHere),
		"settings": answering(c.local.settingsHere),

		"learn": func(ctx context.Context, from string, _ json.RawMessage) (any, error) {
			return learnFrom(ctx, c, from)
		},
	}
	return c
}

// told returns an error as the page shows it.
func (o *Options) told(err error) string { return o.plain(err).Error() }

// plain returns an error whose text is plain. It is err unless this is one of the store.
func (o *Options) plain(err error) error {
	if err == nil || o.Plain == nil {
		return err
	}
	if text := o.Plain(err); text != "" {
		return &plainError{text, err}
	}
	return err
}

// plainError is an error in plain words.
type plainError struct {
	text string
	err  error
}

func (e *plainError) Error() string { return e.text }
func (e *plainError) Unwrap() error { return e.err }

// Close ends the streams to pages.
func (c *Console) Close() { c.once.Do(func() { close(c.closing) }) }

// alone has no other members.
type alone struct{}

func (alone) Others() []string { return nil }

func (alone) Request(context.Context, string, []byte) ([]byte, error) { return nil, errNoAnswer }

package console

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// EventQuery selects events.
type EventQuery struct {
	// After is the id of the event after which to continue the list, or "".
	After string `json:"after"`
	// Search has words that an event's text, kind or subjects all contain, in any case.
	Search string `json:"search"`
	// Limit bounds how many are returned; 0 means 50.
	Limit int `json:"limit"`
}

const (
	defaultEvents = 50
	maxEvents     = 500
	// nodeEvents and nodeBytes bound what one node answers.
	nodeEvents = 3000
	nodeBytes  = 900_000
)

// eventQuestion asks a node for its events.
type eventQuestion struct {
	Since time.Time `json:"since"`
	Most  int       `json:"most"`
}

// eventsHere returns this node's events, newest first. Older ones that do not fit an answer are left out, and details
// before that.
func (c *local) eventsHere(_ context.Context, q eventQuestion) ([]state.Event, error) {
	list := c.o.Events.List(q.Since, q.Most)
	size := 0
	for i := range list {
		text, err := json.Marshal(&list[i])
		if err == nil && size+len(text) > nodeBytes {
			list[i].Detail = ""
			text, err = json.Marshal(&list[i])
		}
		if err != nil {
			return nil, err
		}
		if size += len(text) + 1; size > nodeBytes {
			return list[:i], nil
		}
	}
	return list, nil
}

// All returns the events of all nodes, newest first, and the nodes that have not answered. Reports of several nodes on
// the same are one event.
func (c *Console) All(ctx context.Context) ([]state.Event, []state.Absent) {
	answers, absent := gather(ctx, c, "events", eventQuestion{Most: nodeEvents}, c.local.eventsHere)
	lists := make([][]state.Event, len(answers))
	for i, a := range answers {
		lists[i] = a.Value
		if a.Skew != 0 {
			lists[i] = corrected(a.Value, -a.Skew)
		}
	}
	return events.Merge(lists...), absent
}

// corrected returns events with their times moved by d.
func corrected(list []state.Event, d time.Duration) []state.Event {
	list = slices.Clone(list)
	for i := range list {
		e := &list[i]
		e.At = e.At.Add(d)
		for _, t := range []**time.Time{&e.Since, &e.Until} {
			if *t != nil {
				moved := (*t).Add(d)
				*t = &moved
			}
		}
	}
	return list
}

// Events returns a part of the list of all nodes' events, with the stories of recent failures.
func (c *Console) Events(ctx context.Context, q EventQuery) state.EventPage {
	all, absent := c.All(ctx)
	page := state.EventPage{Now: time.Now().UTC(), Events: []state.Event{}, Absent: absent}
	page.Stories = events.Stories(all)
	page.Stories = page.Stories[:min(len(page.Stories), maxStories)]
	words := strings.Fields(strings.ToLower(q.Search))
	limit := defaultEvents
	if q.Limit > 0 {
		limit = min(q.Limit, maxEvents)
	}
	begins := q.After == "" || !slices.ContainsFunc(all, func(e state.Event) bool { return e.ID == q.After })
	for i := range all {
		e := &all[i]
		if !begins {
			begins = e.ID == q.After
			continue
		}
		if !matches(e, words) {
			continue
		}
		if len(page.Events) == limit {
			page.Next = page.Events[limit-1].ID
			break
		}
		page.Events = append(page.Events, *e)
	}
	return page
}

const maxStories = 20

// matches reports whether an event contains all words.
func matches(e *state.Event, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join([]string{e.Text, string(e.Kind), string(e.Severity), e.Node, e.Member,
		e.Database, e.Object, e.Job, e.Actor, e.User, e.Address, e.From, e.To}, "\x00"))
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

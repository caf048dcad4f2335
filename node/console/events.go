package console

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/events"
	"github.com/divandb/divan/node/console/state"
)

// EventQuery selects events.
type EventQuery struct {
	// After is the Next of the page before, or the id of the event after which to continue the list, or "".
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
	// Now is what the clock said by which Since is. Nodes of earlier versions do not send it.
	Now  time.Time `json:"now"`
	Most int       `json:"most"`
	// Learned asks also for what the node has learned from others, and Stories for nothing but what stories consist of.
	// A node of an earlier version has learned nothing, and answers with all.
	Learned bool `json:"learned,omitempty"`
	Stories bool `json:"stories,omitempty"`
}

// eventsHere returns this node's events, newest first. Older ones that do not fit an answer are left out, and details
// before that.
func (c *local) eventsHere(_ context.Context, q eventQuestion) ([]state.Event, error) {
	// A difference as long as a question may take may be the time that it took.
	if ahead := time.Since(q.Now); !q.Now.IsZero() && !q.Since.IsZero() && ahead.Abs() > patience {
		q.Since = q.Since.Add(ahead)
	}
	takeovers := c.o.Events.Takeovers(q.Since)
	list := c.o.Events.List(q.Since, q.Most)
	if q.Learned {
		list = slices.Concat(list, takeovers, c.o.Events.Learned(q.Since))
		events.Sort(list)
	}
	if q.Stories {
		list = events.OfStories(list)
	}
	list = list[:min(len(list), q.Most)]
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
	list, absent := allTold(ctx, c, eventQuestion{Most: nodeEvents, Learned: true})
	return events.Merge(list), absent
}

// allTold returns the events of all nodes, each once, by the clock of this node.
func allTold(ctx context.Context, c *Console, q eventQuestion) (list []state.Event, absent []state.Absent) {
	answers, absent := gather(ctx, c, "events", q, c.local.eventsHere)
	known := map[string]int{}                     // indexes in list, by id
	for _, learned := range []bool{false, true} { // a node knows best what it has seen itself
		for _, a := range answers {
			value := a.Value
			if a.Skew != 0 {
				value = corrected(a.Value, -a.Skew)
			}
			for _, e := range value {
				if learned == (e.Node == a.Node) {
					continue
				}
				if i, ok := known[e.ID]; !ok {
					known[e.ID] = len(list)
					list = append(list, e)
				} else if !events.Knows(&list[i], &e) {
					list[i] = e
				}
			}
		}
	}
	return list, absent
}

// Learn keeps what all nodes tell of members since a moment, for when those are restarted that tell it. It takes little
// longer than a second.
func Learn(ctx context.Context, c *Console, since time.Time) {
	list, _ := allTold(ctx, c,
		eventQuestion{Since: since, Now: time.Now(), Most: nodeEvents, Learned: true, Stories: true})
	learn(c, list)
}

// learn keeps events of other nodes, and forgets the members that were forgotten there while this node did not answer.
// It does so for all that it has ever learned, each time: a node that wakes takes such a member for one that is up, and
// cannot forget it yet.
func learn(c *Console, list []state.Event) {
	c.o.Events.Learn(list)
	for _, e := range c.o.Events.Learned(time.Time{}) {
		if events.Forgets(&e) {
			c.o.Acts.Forgotten(e.Member, e.At)
		}
	}
}

// tellSince is for how long before Tell others may not have learned yet what a node tells of members.
const tellSince = time.Minute

// Tell lets all other nodes learn what this one tells of members, for when it stops. It returns when they have, or ctx
// ends. Nodes of earlier versions do not.
func Tell(ctx context.Context, c *Console) {
	request, err := encodeQuestion("learn", struct{}{})
	if err != nil {
		return // there is nothing that could fail
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	for _, node := range c.peers.Others() {
		telling.Go(func() {
			for told := false; !told && ctx.Err() == nil; { // messages to members that have just come may be lost
				told = tell(ctx, c, node, request)
			}
		})
	}
}

// tellAgain is how long one attempt of Tell takes at least, unless it succeeds.
const tellAgain = 100 * time.Millisecond

// tell asks a node to learn from this one, and reports whether it has.
func tell(ctx context.Context, c *Console, node string, request []byte) bool {
	within, cancel := context.WithTimeout(ctx, tellAgain)
	defer cancel()
	_, err := c.peers.Request(within, node, request)
	if err != nil {
		<-within.Done()
	}
	return err == nil
}

// learnFrom asks a node for what it tells of members, because it has sent Tell.
func learnFrom(ctx context.Context, c *Console, from string) (learned int, err error) {
	now := time.Now()
	q := eventQuestion{Since: now.Add(-tellSince), Now: now, Most: nodeEvents, Learned: true, Stories: true}
	request, err := encodeQuestion("events", q)
	if err != nil {
		return 0, err
	}
	r, skew, err := c.peers.ask(ctx, from, request)
	if err != nil {
		return 0, err
	}
	var list []state.Event
	if err := json.Unmarshal(r.Value, &list); err != nil {
		return 0, unreadable(err)
	}
	learn(c, corrected(list, -skew))
	return len(list), nil
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
	if since := events.Complete(all); !since.IsZero() {
		page.Since = &since
	}
	page.Stories = events.Stories(all)
	page.Stories = page.Stories[:min(len(page.Stories), maxStories)]
	words := strings.Fields(strings.ToLower(q.Search))
	if len(words) == 0 { // who searches may search for one of those that are folded
		all = events.Fold(all)
	}
	limit := defaultEvents
	if q.Limit > 0 {
		limit = min(q.Limit, maxEvents)
	}
	all = after(all, q.After)
	for i := range all {
		e := &all[i]
		if !matches(e, words) {
			continue
		}
		if len(page.Events) == limit {
			last := &page.Events[limit-1]
			page.Next = last.ID + nextAt + strconv.FormatInt(last.At.UnixNano(), 10)
			break
		}
		page.Events = append(page.Events, *e)
	}
	return page
}

// nextAt is between the id of an event and its time in EventPage.Next.
const nextAt = "@"

// after returns the events of a list, newest first, behind the one that a page ended with. Nodes may have forgotten it,
// or it may be told by another node now: then it returns those before its time.
func after(all []state.Event, next string) []state.Event {
	if next == "" {
		return all
	}
	id, at := next, int64(0)
	if i := strings.LastIndex(next, nextAt); i >= 0 {
		if t, err := strconv.ParseInt(next[i+len(nextAt):], 10, 64); err == nil {
			id, at = next[:i], t
		}
	}
	if i := slices.IndexFunc(all, func(e state.Event) bool { return e.ID == id || e.ID == next }); i >= 0 {
		return all[i+1:]
	}
	if at == 0 {
		return all
	}
	i := slices.IndexFunc(all, func(e state.Event) bool { return e.At.UnixNano() < at })
	if i < 0 {
		return nil
	}
	return all[i:]
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

package events

import (
	"context"
	"crypto/rand"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/divandb/divan/node/console/state"
)

const (
	// maxBytes and maxStrangers bound the memory of the events that operators and nodes cause, in bytes, and the number
	// of those that anyone can cause.
	maxBytes     = 1 << 20
	maxStrangers = 200
	// maxTaken bounds the number of jobs that were taken over, which come by hundreds, and maxTakeovers that of the
	// events for those of togetherWithin.
	maxTaken, maxTakeovers = 500, 200
	togetherWithin         = time.Second
	// burst is how many events of a limited kind are kept of any minute, and countedFor how long one counts what is
	// the same.
	burst      = 10
	countedFor = time.Hour

	// maxLearned bounds the memory of what other nodes tell, in bytes, and maxLearnedTaken that of jobs that were taken
	// over.
	maxLearned, maxLearnedTaken = 192 << 10, 128 << 10

	maxName   = 256
	maxText   = 512
	maxDetail = 4096
	maxItems  = 500
)

// Recorder keeps the events of one node. It is safe for concurrent use.
type Recorder struct {
	node, life string
	log        *slog.Logger

	mu struct {
		sync.Mutex
		last      int64                           // number of the last event
		changes   int64                           // incremented by each event, also by one that repeats another
		own       []state.Event                   // oldest first
		bytes     int                             // of own
		strangers []state.Event                   // oldest first
		learned   []state.Event                   // of others, and of this one before it was restarted; oldest first
		taken     []state.Event                   // oldest first
		takeovers []state.Event                   // of taken, and of earlier ones: one for those that are Part of it
		limits    map[state.EventKind][]time.Time // when the last events were kept, at most burst of them
		changed   chan struct{}                   // closed and replaced by each event
	}
}

// New returns the Recorder of a node.
func New(node string, log *slog.Logger) *Recorder {
	r := &Recorder{node: node, life: rand.Text()[:6], log: log}
	r.mu.limits = map[state.EventKind][]time.Time{}
	r.mu.changed = make(chan struct{})
	return r
}

// Record keeps an event and writes it to the log. It fills in ID, Node, Severity and Text, and At if it is zero.
func (r *Recorder) Record(e state.Event) { r.add(e, true, false) }

// Keep is Record without the log, for what is in the log already.
func (r *Recorder) Keep(e state.Event) { r.add(e, false, false) }

// Count is Record for what strangers can cause, and follows from what they did before: it is counted as a repetition of
// the last event that tells the same of the same user and address, unless that is more than an hour old.
func (r *Recorder) Count(e state.Event) { r.add(e, true, true) }

func (r *Recorder) add(e state.Event, logs, counted bool) {
	e.Node = r.node
	if e.At.IsZero() {
		e.At = time.Now()
	}
	e.At = e.At.UTC()
	k := kinds[e.Kind]
	e.Severity = k.severity
	for _, s := range []*string{&e.Member, &e.Database, &e.Object, &e.Job, &e.Actor, &e.User, &e.Address, &e.From,
		&e.To} {
		*s = cut(*s, maxName)
	}
	e.Detail = cut(e.Detail, maxDetail)
	e.Items = e.Items[:min(len(e.Items), maxItems)]
	if e.Text == "" {
		e.Text = text(&e)
	}
	e.Text = cut(e.Text, maxText)
	if r.keep(e, k.limited, counted) && logs {
		r.write(&e, k.log)
	}
}

// write writes an event to the log.
func (r *Recorder) write(e *state.Event, message string) {
	to, level := r.log.Handler(), levels[e.Severity]
	if !to.Enabled(context.Background(), level) {
		return
	}
	line := slog.NewRecord(time.Now(), level, message, 0)
	line.AddAttrs(attributes(e)...)
	_ = to.Handle(context.Background(), line) // as package slog does
}

// keep adds an event, or counts it as a repetition of an earlier one: of the same if it is counted, or of the last one
// of its kind if there were too many. It reports whether it was added.
func (r *Recorder) keep(e state.Event, limited, counted bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.changes++
	close(r.mu.changed)
	r.mu.changed = make(chan struct{})
	if counted && r.repeats(&e, func(last *state.Event) bool {
		return last.User == e.User && last.Address == e.Address && last.Object == e.Object &&
			last.Detail == e.Detail && e.At.Sub(last.At) < countedFor
	}) {
		return false
	}
	if limited && !r.allows(e.Kind, e.At) && r.repeats(&e, func(*state.Event) bool { return true }) {
		return false
	}
	r.mu.last++
	e.ID = r.node + "/" + r.life + "/" + strconv.FormatInt(r.mu.last, 10)
	if limited {
		if len(r.mu.strangers) == maxStrangers {
			r.mu.strangers = slices.Delete(r.mu.strangers, 0, 1)
		}
		r.mu.strangers = append(r.mu.strangers, e)
		return true
	}
	if e.Kind == state.JobTaken {
		if len(r.mu.taken) == maxTaken {
			r.mu.taken = slices.Delete(r.mu.taken, 0, 1)
		}
		e.Part = r.together(&e)
		r.mu.taken = append(r.mu.taken, e)
		return true
	}
	r.mu.own = append(r.mu.own, e)
	r.mu.bytes += weight(&e)
	n := 0
	for r.mu.bytes > maxBytes {
		r.mu.bytes -= weight(&r.mu.own[n])
		n++
	}
	if n > 0 {
		r.mu.own = slices.Delete(r.mu.own, 0, n)
	}
	return true
}

// repeats counts an event of a limited kind as a repetition of the last one of its kind that is like it, if there is
// one.
func (r *Recorder) repeats(e *state.Event, like func(last *state.Event) bool) bool {
	for i := len(r.mu.strangers) - 1; i >= 0; i-- {
		if last := &r.mu.strangers[i]; last.Kind == e.Kind && like(last) {
			at := e.At
			last.Repeated++
			last.Until = &at
			return true
		}
	}
	return false
}

// together adds a job to those that were taken from the same node at the same time, and returns the id of their event.
func (r *Recorder) together(e *state.Event) string {
	for i := len(r.mu.takeovers) - 1; i >= 0; i-- {
		t := &r.mu.takeovers[i]
		passed := e.At.Sub(*t.Since)
		if passed > togetherWithin {
			break
		}
		if passed >= 0 && t.From == e.From && t.To == e.To {
			t.At, t.Count = later(t.At, e.At), t.Count+1
			t.Job, t.Database, t.Token, t.Text = "", "", 0, ""
			t.Text = text(t)
			return t.ID
		}
	}
	t := *e
	r.mu.last++
	t.ID = r.node + "/" + r.life + "/" + strconv.FormatInt(r.mu.last, 10)
	t.Since, t.Count = &e.At, 1
	if len(r.mu.takeovers) == maxTakeovers {
		r.mu.takeovers = slices.Delete(r.mu.takeovers, 0, 1)
	}
	r.mu.takeovers = append(r.mu.takeovers, t)
	return t.ID
}

// Takeovers returns the events of the jobs that were taken over at the same time, as far as one was at or after a time.
// List has each job, but fewer of them, and should be called later.
func (r *Recorder) Takeovers(since time.Time) []state.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.mu.takeovers), func(e state.Event) bool { return e.At.Before(since) })
}

// Knows reports whether an event that is kept tells no less than another one with the same id: jobs may have been taken
// over since.
func Knows(kept, e *state.Event) bool { return kept.Kind != state.JobTaken || kept.Count >= e.Count }

// allows reports whether one more event of a kind is kept, and counts it.
func (r *Recorder) allows(kind state.EventKind, now time.Time) bool {
	kept := r.mu.limits[kind]
	if len(kept) == burst {
		if passed := now.Sub(kept[0]); passed >= 0 && passed < time.Minute { // unless the clock was set back
			return false
		}
		kept = slices.Delete(kept, 0, 1)
	}
	r.mu.limits[kind] = append(kept, now)
	return true
}

// weight is about how much memory an event takes, in bytes.
func weight(e *state.Event) int {
	const fixed = 600 // the struct, which slices may hold twice
	return fixed + len(e.ID) + len(e.Text) + len(e.Member) + len(e.Database) + len(e.Object) + len(e.Job) +
		len(e.Actor) + len(e.User) + len(e.Address) + len(e.From) + len(e.To) + len(e.Part) + len(e.Detail) +
		32*len(e.Items)
}

// List returns the events at or after a time, newest first, at most most of them.
func (r *Recorder) List(since time.Time, most int) []state.Event {
	r.mu.Lock()
	list := slices.Concat(r.mu.own, r.mu.strangers, r.mu.taken)
	r.mu.Unlock()
	list = slices.DeleteFunc(list, func(e state.Event) bool { return e.At.Before(since) && !until(&e, since) })
	Sort(list)
	return list[:min(len(list), most)]
}

// until reports whether an event was repeated at or after a time.
func until(e *state.Event, since time.Time) bool { return e.Until != nil && !e.Until.Before(since) }

// Learn keeps what other nodes tell of members, as far as it is not kept yet, with its times by this node's clock: each
// node keeps its events in memory alone, and a story would lack those of nodes that were restarted. Of jobs that were
// taken over it keeps how many there were at a time.
func (r *Recorder) Learn(list []state.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[string]int, len(r.mu.learned)) // indexes, by id
	for i := range r.mu.learned {
		known[r.mu.learned[i].ID] = i
	}
	for _, e := range OfStories(slices.Clone(list)) {
		if strings.HasPrefix(e.ID, r.node+"/"+r.life+"/") {
			continue
		}
		e.Detail = ""
		if i, ok := known[e.ID]; !ok {
			known[e.ID] = len(r.mu.learned)
			r.mu.learned = append(r.mu.learned, e)
		} else if !Knows(&r.mu.learned[i], &e) {
			r.mu.learned[i] = e
		}
	}
	slices.SortStableFunc(r.mu.learned, func(a, b state.Event) int { return a.At.Compare(b.At) })
	// Of neither kind others are displaced. The newest are kept.
	room, roomTaken := maxLearned, maxLearnedTaken
	for i := len(r.mu.learned) - 1; i >= 0; i-- {
		e := &r.mu.learned[i]
		left := &room
		if e.Kind == state.JobTaken {
			left = &roomTaken
		}
		if *left -= weight(e); *left < 0 {
			r.mu.learned = slices.Delete(r.mu.learned, i, i+1)
		}
	}
}

// Learned returns what Learn has kept of events at or after a time, oldest first.
func (r *Recorder) Learned(since time.Time) []state.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.mu.learned), func(e state.Event) bool { return e.At.Before(since) })
}

// OfStories returns those of a list of events that stories of members consist of, and of jobs that were taken over at
// the same time one for all. It changes the list.
func OfStories(list []state.Event) []state.Event {
	return slices.DeleteFunc(list, func(e state.Event) bool { return !ofStories[e.Kind] || e.Part != "" })
}

// Complete returns from when on no event of a node is missing in a list of Merge of all there are, or zero if there is
// none. What a node has seen before it was started it has forgotten, and it keeps a certain number of events that
// anyone can cause.
func Complete(merged []state.Event) (since time.Time) {
	type node struct {
		oldest    time.Time // event
		stranger  time.Time // the oldest event that anyone can cause
		strangers int
		started   bool // it is known when it was started
	}
	of := map[string]*node{}
	for _, e := range merged { // newest first
		n := of[e.Node]
		if n == nil {
			n = &node{}
			of[e.Node] = n
		}
		n.oldest = e.At
		if kinds[e.Kind].limited {
			n.strangers, n.stranger = n.strangers+1, e.At
		}
		if e.Kind == state.NodeStarted {
			n.started, since = true, later(since, e.At)
		}
	}
	for _, n := range of {
		if !n.started {
			since = later(since, n.oldest)
		}
		if n.strangers >= maxStrangers {
			since = later(since, n.stranger)
		}
	}
	return since
}

// Changes returns a number that grows with each event, and a channel that is closed by the next one.
func (r *Recorder) Changes() (n int64, next <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.changes, r.mu.changed
}

// Sort sorts events, newest first.
func Sort(list []state.Event) {
	slices.SortStableFunc(list, func(a, b state.Event) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return compareIDs(b.ID, a.ID)
	})
}

// compareIDs compares the ids of events of one node by their numbers.
func compareIDs(a, b string) int {
	i, j := strings.LastIndexByte(a, '/')+1, strings.LastIndexByte(b, '/')+1
	if a[:i] != b[:j] {
		return strings.Compare(a, b)
	}
	x, _ := strconv.ParseInt(a[i:], 10, 64)
	y, _ := strconv.ParseInt(b[j:], 10, 64)
	return int(x - y)
}

// cut shortens a text to n bytes at most, at the start of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const more = "…"
	n -= len(more)
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + more
}

package feeds

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Changes answers GET and POST of /{db}/_changes and /{db}/_changes/{shard}.
func (h *Handlers) Changes(q *call.Request) error {
	if q.Method == http.MethodPost {
		if err := q.RequireJSON(); err != nil {
			return err
		}
	}
	c, err := h.readChangesQuery(q)
	if err != nil {
		return err
	}
	filter, err := h.changesFilter(q, &c)
	if err != nil {
		return err
	}
	return h.serve(q, &c, filter)
}

// serve runs a feed.
func (h *Handlers) serve(q *call.Request, c *changesQuery, filter *changeFilter) error {
	if c.feed == feedNormal {
		last, err := q.DB.LastSeq(q.Ctx())
		if err != nil {
			return err
		}
		if q.NotModified(`"` + last.String() + `"`) {
			return nil
		}
	}
	f := &feed{h: h, q: q, c: c, filter: filter, lastBeat: time.Now(), out: newFeedWriter(q, c)}
	defer f.out.s.Drop()
	defer f.stopListening()
	defer f.leave()
	return f.run()
}

// feed is one running _changes response. It alternates between passes over the feed and waits. It belongs to the
// request's goroutine.
type feed struct {
	h      *Handlers
	q      *call.Request
	c      *changesQuery
	filter *changeFilter
	out    *feedWriter

	passed   bool      // the first pass, over old entries, is done
	rows     int       // rows written
	lastBeat time.Time // when the client last got a row or a heartbeat
	idle     time.Time // start of the current wait without a row; zero if the feed does not wait

	woken     <-chan struct{}
	cancel    func()
	listening []layer.ShardID

	tail      *feedTail // used from this feed's first wait on
	leaveTail func()
}

// run makes passes until the feed is complete or is ended.
func (f *feed) run() error {
	if f.c.waits() {
		if err := f.listenFirst(); err != nil {
			return err
		}
	}
	for {
		pass, err := f.pass()
		if err != nil {
			return f.ended(err)
		}
		if moved := pass.Resharded(); moved != nil {
			return f.out.resharded(f.c.since, moved)
		}
		if f.complete() {
			return f.stop(pass)
		}
		if f.c.shard == "" && f.listen(pass.Shards()) {
			continue // the database was resharded before the pass: writes to the new shards did not wake this feed
		}
		more, err := f.wait()
		if err != nil {
			return err
		}
		if !more {
			return f.stop(pass)
		}
	}
}

// pass writes what is new since the last pass.
func (f *feed) pass() (*layer.ChangesPass, error) {
	c := f.c
	o := layer.ChangesOptions{
		Since: c.since, Shard: c.shard, Descending: c.descending, Limit: c.limit, AllLeaves: c.allLeaves,
		Match:       f.match(),
		IncludeDocs: c.includeDocs || f.filter.needsDocs(), Large: !f.filter.needsDocs() && c.render.Fields == nil,
		Conflicts: c.conflicts && c.includeDocs,
	}
	if !f.passed { // later passes are short
		o.IDs, o.Only = f.filter.ids, f.filter.only
		f.passed = true
	}
	if c.limit >= 0 {
		o.Limit = c.limit - f.rows
		if f.filter.needsDocs() {
			o.Limit = -1 // which rows pass the filter is known only after reading them
		}
	}
	pass, err := f.open(o)
	if err != nil {
		return nil, err
	}
	cut := layer.Seq{}
	for change, err := range pass.Rows {
		if err != nil {
			return nil, err
		}
		show, err := f.filter.shows(f.q, &change, c)
		if err != nil {
			return nil, err
		}
		if !show {
			if err := f.beat(); err != nil {
				return nil, err
			}
			continue
		}
		if err := f.row(&change); err != nil {
			return nil, err
		}
		if c.limit >= 0 && f.rows >= c.limit && o.Limit < 0 {
			cut = change.Seq
			break
		}
	}
	f.c.since = pass.LastSeq()
	if !cut.IsZero() {
		f.c.since = cut
	}
	return pass, nil
}

// open begins a pass. It uses the newest entries in memory, which are read once for all waiting feeds, if they suffice.
func (f *feed) open(o layer.ChangesOptions) (*layer.ChangesPass, error) {
	if f.tail != nil && o.Limit < 0 && !o.IncludeDocs {
		if pass, err := f.tail.pass(f.q.Ctx(), o); pass != nil || err != nil {
			return pass, err
		}
	}
	return f.q.DB.Changes(f.q.Ctx(), o)
}

// leave stops using the shared tail.
func (f *feed) leave() {
	if f.leaveTail != nil {
		f.leaveTail()
	}
}

// match is the part of the filter that needs no document. It also sends heartbeats while nothing matches.
func (f *feed) match() func(*layer.Change) bool {
	match := f.filter.match
	if match == nil {
		return nil
	}
	return func(c *layer.Change) bool {
		if match(c) {
			return true
		}
		_ = f.beat() // a broken connection is noticed at the next row or wait
		return false
	}
}

func (f *feed) row(change *layer.Change) error {
	if !f.c.includeDocs {
		change.Doc = nil
	}
	showSeq := f.rows%f.c.interval == 0
	f.rows++
	f.lastBeat, f.idle = time.Now(), time.Time{}
	return f.out.row(change, showSeq, f.c)
}

// complete reports whether the feed has sent everything that was asked for.
func (f *feed) complete() bool {
	c := f.c
	switch {
	case !c.waits(), c.limit >= 0 && f.rows >= c.limit:
		return true
	case c.feed == feedLongpoll:
		return f.rows > 0
	}
	return false
}

// stop writes the end of the feed.
func (f *feed) stop(pass *layer.ChangesPass) error {
	var pending int64
	if f.c.limit >= 0 && f.rows >= f.c.limit {
		var err error
		if pending, err = pass.Pending(f.q.Ctx()); err != nil {
			return err
		}
	}
	return f.out.stop(f.c.since, pending)
}

// ended finishes a feed whose database was deleted after the response began. What was sent remains true.
func (f *feed) ended(err error) error {
	if f.out.s.Sent && layer.KindOf(err) == layer.NotFound {
		return f.out.stop(f.c.since, 0)
	}
	return err
}

// listenFirst subscribes before the first pass reads, so that no later commit is missed.
func (f *feed) listenFirst() error {
	if f.c.shard == "" {
		maps, err := f.q.DB.ShardMaps(f.q.Ctx(), f.c.since)
		if err == nil {
			f.listen(maps[len(maps)-1].Shards)
		}
		return err
	}
	maps, err := f.q.DB.ShardMaps(f.q.Ctx(), layer.Seq{})
	for i := range maps {
		if slices.Contains(maps[i].Shards, f.c.shard) {
			f.listen([]layer.ShardID{f.c.shard})
		}
	}
	return err // no one can subscribe to a shard that never existed; the pass returns the error
}

// listen subscribes to these shards. It returns false if the feed already was subscribed to them.
func (f *feed) listen(shards []layer.ShardID) bool {
	if slices.Equal(shards, f.listening) {
		return false
	}
	f.stopListening()
	f.listening = slices.Clone(shards)
	f.woken, f.cancel = f.h.Feeds.Listen(f.q.DB, shards...)
	return true
}

func (f *feed) stopListening() {
	if f.cancel != nil {
		f.cancel()
		f.cancel = nil
	}
}

// wait flushes the response, then blocks until there may be something new (true) or the feed's time is over (false). It
// sends heartbeats meanwhile. Changes that a filter hides delay neither.
func (f *feed) wait() (more bool, err error) {
	if err := f.out.waiting(); err != nil {
		return false, err
	}
	if !f.q.Waited {
		f.q.Waited = true
		f.h.Waiting.Add(1)
	}
	if f.idle.IsZero() {
		f.idle = time.Now()
	}
	if f.tail == nil {
		f.tail, f.leaveTail = f.h.tails.join(f.q.DB, f.c.shard)
	}
	due := f.idle.Add(f.c.timeout)
	if f.c.heartbeat > 0 {
		due = f.lastBeat.Add(f.c.heartbeat)
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for {
		select {
		case <-f.woken:
			return true, nil
		case <-f.q.Ctx().Done():
			return false, f.q.Ctx().Err()
		case <-f.h.Closing:
			return false, nil
		case <-timer.C:
			if f.c.heartbeat == 0 {
				return false, nil
			}
			f.lastBeat = time.Now()
			if err := f.out.heartbeat(); err != nil {
				return false, err
			}
			timer.Reset(f.c.heartbeat)
		}
	}
}

// beat sends a heartbeat if one is due while entries are read but none is shown.
func (f *feed) beat() error {
	if f.c.heartbeat == 0 || time.Since(f.lastBeat) < f.c.heartbeat {
		return nil
	}
	f.lastBeat = time.Now()
	return f.out.heartbeat()
}

// filterFault turns the error of a failed filter function into a fault.
func filterFault(err error) error {
	var known *layer.Error
	if errors.As(err, &known) {
		return err
	}
	if busy := fault.FunctionsBusy(err); busy != nil {
		return busy
	}
	return &fault.Fault{Status: http.StatusInternalServerError, Name: "filter_error", Reason: err.Error()}
}

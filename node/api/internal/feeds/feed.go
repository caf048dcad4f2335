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
	if c.feed == feedNormal {
		last, err := q.DB.LastSeq(q.Ctx())
		if err != nil {
			return err
		}
		if q.NotModified(`"` + last.String() + `"`) {
			return nil
		}
	}
	f := &feed{h: h, q: q, c: &c, filter: filter, lastBeat: time.Now(), out: newFeedWriter(q, c.feed)}
	defer f.out.s.Drop()
	defer f.stopListening()
	defer f.leave()
	return f.run()
}

// feed is one _changes answer under way: passes over the feed, and waiting between them. It belongs to the request's
// goroutine.
type feed struct {
	h      *Handlers
	q      *call.Request
	c      *changesQuery
	filter *changeFilter
	out    *feedWriter

	passed   bool      // once over what is old
	rows     int       // written
	lastBeat time.Time // when the client last got a row or a heartbeat
	idle     time.Time // since when the feed has waited without a row; zero where it does not

	woken     <-chan struct{}
	cancel    func()
	listening []layer.ShardID

	tail      *feedTail // of this feed, from the first wait on
	leaveTail func()
}

// run goes pass by pass until the feed has said what was asked for, or somebody ends it.
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
			continue // the database was resharded before the pass: what went to the new shards meanwhile woke nobody
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

// pass writes what is new since the last one.
func (f *feed) pass() (*layer.ChangesPass, error) {
	c := f.c
	o := layer.ChangesOptions{
		Since: c.since, Shard: c.shard, Descending: c.descending, Limit: c.limit, AllLeaves: c.allLeaves,
		Match:       f.match(),
		IncludeDocs: c.includeDocs || f.filter.needsDocs(), Large: !f.filter.needsDocs() && c.render.Fields == nil,
		Conflicts: c.conflicts && c.includeDocs,
	}
	if !f.passed { // later ones are short
		o.IDs, o.Only = f.filter.ids, f.filter.only
		f.passed = true
	}
	if c.limit >= 0 {
		o.Limit = c.limit - f.rows
		if f.filter.needsDocs() {
			o.Limit = -1 // how many rows pass is known only when they are read
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

// open begins a pass: over the newest entries that are read once for all who wait for them, where these will do.
func (f *feed) open(o layer.ChangesOptions) (*layer.ChangesPass, error) {
	if f.tail != nil && o.Limit < 0 && !o.IncludeDocs {
		if pass, err := f.tail.pass(f.q.Ctx(), o); pass != nil || err != nil {
			return pass, err
		}
	}
	return f.q.DB.Changes(f.q.Ctx(), o)
}

// leave the tail to others.
func (f *feed) leave() {
	if f.leaveTail != nil {
		f.leaveTail()
	}
}

// match is the filter's part that needs no document; it also keeps the connection warm while nothing matches.
func (f *feed) match() func(*layer.Change) bool {
	match := f.filter.match
	if match == nil {
		return nil
	}
	return func(c *layer.Change) bool {
		if match(c) {
			return true
		}
		_ = f.beat() // a broken connection is found out at the next row or wait
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

// complete reports whether the feed has all it was asked for.
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

// ended finishes a feed whose database was deleted after the answer had begun: what was sent is true, and there is no
// more.
func (f *feed) ended(err error) error {
	if f.out.s.Sent && layer.KindOf(err) == layer.NotFound {
		return f.out.stop(f.c.since, 0)
	}
	return err
}

// listenFirst asks to be woken before the first pass reads: what is committed after that is not missed.
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
	return err // a shard that never was has nobody to listen to; the pass says so
}

// listen asks to be woken by these shards from now on; false where that is so already.
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

// wait sends what was written, then blocks until there may be something new (true), or the feed's time is over (false).
// Heartbeats are sent meanwhile. Changes that a filter does not show put off neither.
func (f *feed) wait() (more bool, err error) {
	if err := f.out.waiting(); err != nil {
		return false, err
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

// beat sends a heartbeat if one is due while rows are read and none is shown.
func (f *feed) beat() error {
	if f.c.heartbeat == 0 || time.Since(f.lastBeat) < f.c.heartbeat {
		return nil
	}
	f.lastBeat = time.Now()
	return f.out.heartbeat()
}

// filterFault is what a failing filter function becomes.
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

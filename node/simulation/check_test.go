package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/cluster"
	"github.com/divandb/divan/layer"
)

// The bounds of what must happen while there are nodes to do it.
const (
	agreedWithin = 10 * time.Second // members see each other again
	heldWithin   = 3 * time.Second  // a job is held by a living worker
	// handedOverWithin is how long a node that leaves regularly holds jobs.
	handedOverWithin = time.Second
	restWithin       = 8 * time.Second // nodes have nothing to do any more
	// reachedWithin is how long it may take until each member answers each other one.
	reachedWithin = 3 * time.Second
)

const (
	// mostWaiting is how many messages may wait for one actor.
	mostWaiting = 500
	// failingFrom is how many failures within a minute a node tells about.
	failingFrom = 3
)

// until waits until wrong returns "", for a limited time, and records what is wrong then.
func (w *world) until(invariant string, limit time.Duration, wrong func() string) {
	begun := time.Now()
	for {
		text := wrong()
		if text == "" {
			w.log.took("until "+invariant, time.Since(begun))
			return
		}
		if time.Since(begun) > limit {
			w.log.violated(invariant, "after %v: %s", limit, text)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// settle waits until all members see each other.
func (w *world) settle() {
	agreed := func() string {
		for _, n := range w.nodes {
			l := n.current()
			if l == nil {
				return n.name + " is down"
			}
			alive := 0
			for _, m := range l.cluster.Members() {
				if m.Status == cluster.Alive {
					alive++
				}
			}
			if alive != nodes {
				return fmt.Sprintf("%s sees %d members", n.name, alive)
			}
			// Where a node has moved, its old address in the lists of the others is to be told.
			if d := l.cluster.Degraded(); len(d) > 0 && !w.moves {
				return fmt.Sprintf("%s is degraded: %v", n.name, d)
			}
			for _, d := range w.dbs {
				if a, b := l.cluster.Owner("shard", d.name).Name, w.nodes[0].current().cluster.Owner("shard", d.name).Name; a != b {
					return fmt.Sprintf("%s places on %s, n1 on %s", n.name, a, b)
				}
			}
		}
		return ""
	}
	again := true
	for tries := 0; again && tries < 3; tries++ {
		again = false
		w.until("members agree", agreedWithin, agreed)
		w.until("members reach each other", reachedWithin, func() string {
			if agreed() != "" { // only now was a member given up, for a trouble that is over
				again = true
				return ""
			}
			return w.unreached()
		})
	}
	w.until("members that were given up have new ids", reachedWithin, w.oldID)
}

// oldID returns which member is there under the id under which another one has given it up.
func (w *world) oldID() (wrong string) {
	for _, l := range w.alive() {
		l.mu.Lock()
		for _, m := range l.cluster.Members() {
			if m.Status != cluster.Left && m.ID == l.mu.gaveUp[m.Name] {
				wrong = fmt.Sprintf("%s had given %s up as %s", l, m.Name, m.ID)
			}
		}
		l.mu.Unlock()
	}
	return wrong
}

// unreached returns which member does not answer which other one.
func (w *world) unreached() string {
	for _, a := range w.alive() {
		for _, b := range w.alive() {
			if a == b {
				continue
			}
			var answer []byte
			var err error
			for range 5 { // messages are lost
				ctx, cancel := context.WithTimeout(w.t.Context(), 300*time.Millisecond)
				answer, err = a.cluster.Request(ctx, b.name, []byte("hello"))
				cancel()
				if err == nil {
					break
				}
			}
			if want := fmt.Sprintf("%s to %s: hello", b.name, a.name); string(answer) != want {
				return fmt.Sprintf("%s asks %s and gets %q, %v", a, b, answer, err)
			}
		}
	}
	return ""
}

// gaveUp notes the id of a member that this one has given up.
func (l *life) gaveUp(member string) {
	for _, m := range l.cluster.Members() {
		if m.Name == member && m.Status == cluster.Left {
			l.mu.Lock()
			l.mu.gaveUp[member] = m.ID
			l.mu.Unlock()
		}
	}
}

// watchActors checks what is told of actors that fail, and how many messages wait for each.
func (w *world) watchActors() {
	for w.running() {
		time.Sleep(500 * time.Millisecond)
		for _, l := range w.alive() {
			degraded := strings.Join(l.actors.Degraded(), "\n")
			l.actors.EachActor(nil, func(n actors.Node, _ string, recent int) bool {
				if n.Mailbox > mostWaiting {
					w.log.violated("mailboxes are bounded", "%s: %d messages wait for %s", l, n.Mailbox, n.ID)
				}
				l.mu.Lock()
				told := l.mu.told[n.ID]
				l.mu.Unlock()
				if n.Restarts > told {
					w.log.violated("failures of actors are told", "%s: %s was restarted %d times, and %d failures were told", l,
						n.ID, n.Restarts, told)
				}
				// It names only some, if many fail.
				if recent > failingFrom && !strings.Contains(degraded, n.ID) && !strings.HasSuffix(degraded, " more") {
					w.log.violated("failures of actors are told", "%s: %s has failed %d times within a minute, and Degraded says %q",
						l, n.ID, recent, degraded)
				}
				return true
			})
		}
	}
}

// verify compares everything in the store with everything else, as divan verify does.
func (w *world) verify() {
	_, err := w.truth.Verify(w.t.Context(), layer.VerifyOptions{Damage: func(d *layer.Damage) error {
		w.log.violated("the store is consistent", "%+v", *d)
		return nil
	}})
	if err != nil {
		w.log.violated("the store is consistent", "%v", err)
	}
}

// checkContents compares what nodes answer with what was acknowledged.
func (w *world) checkContents(followers []*follower) {
	ctx := w.t.Context()
	for _, d := range w.dbs {
		final := map[string]layer.Rev{}
		for id := range d.lows() {
			now, err := d.read(id)
			known, maybe := d.fact(id)
			if err != nil || now.n != known.n && !slices.Contains(maybe, now.n) {
				w.log.violated("no acknowledged write is lost", "%s/%s has %d (%v); acknowledged was %d, unknown %v",
					d.name, id, now.n, err, known.n, maybe)
			}
			if err == nil && now.n != known.n {
				w.log.count("writes that were not acknowledged and happened")
			}
			final[id] = now.rev
			d.mu.Lock()
			d.mu.docs[id].acked = now
			d.mu.Unlock()
		}
		for _, l := range w.alive() {
			if err := d.query(l, 10*time.Second); err != nil {
				w.log.violated("views answer", "%s through %s: %v", d.name, l, err)
			}
			w.checkFeed(l, d, final)
		}
		for _, f := range followers {
			if f.d == d {
				f.check(final)
			}
		}
		db, err := w.truth.Database(ctx, d.name)
		if err != nil {
			w.log.violated("a database stays", "%v", err)
			continue
		}
		design, err := db.Design(ctx, "d")
		if err == nil {
			low := d.lows()
			err = d.exact(db.Index(design), low)
		}
		if err != nil {
			w.log.violated("indexes are exact", "%s: %v", d.name, err)
		}
	}
}

// exact checks that the rows of an index are what the documents say.
func (d *database) exact(ix *layer.Index, want map[string]int) error {
	result, err := ix.Query(d.w.t.Context(), layer.ViewQuery{View: "v", Limit: -1})
	if err != nil {
		return err
	}
	rows := 0
	for row, err := range result.Rows {
		if err != nil {
			return err
		}
		if n, ok := want[row.ID]; !ok || fmt.Sprint(n) != string(row.Key) {
			return fmt.Errorf("the row of %s has %s, the document %d", row.ID, row.Key, n)
		}
		rows++
	}
	if rows != len(want) {
		return fmt.Errorf("%d rows of %d documents", rows, len(want))
	}
	return nil
}

// checkFeed reads the whole feed through a node.
func (w *world) checkFeed(l *life, d *database, final map[string]layer.Rev) {
	ctx := w.t.Context()
	db, err := d.open(ctx, l)
	if err != nil {
		w.log.violated("feeds are exact", "%s through %s: %v", d.name, l, err)
		return
	}
	pass, err := db.Changes(ctx, layer.ChangesOptions{Limit: -1})
	if err != nil {
		w.log.violated("feeds are exact", "%s through %s: %v", d.name, l, err)
		return
	}
	seen := map[string]bool{}
	last := layer.Seq{}
	for c, err := range pass.Rows {
		if err != nil {
			w.log.violated("feeds are exact", "%s through %s: %v", d.name, l, err)
			return
		}
		if rev, ok := final[c.ID]; seen[c.ID] || c.Seq.Compare(last) <= 0 || ok && rev != c.Rev {
			w.log.violated("feeds are exact", "%s through %s: %s %s at %s after %s; the document has %s", d.name, l, c.ID,
				c.Rev, c.Seq, last, rev)
		}
		seen[c.ID], last = true, c.Seq
	}
	if len(seen) != len(final)+1 {
		w.log.violated("feeds are exact", "%s through %s: %d entries of %d", d.name, l, len(seen), len(final)+1)
	}
}

// check compares what a follower has seen with the documents.
func (f *follower) check(final map[string]layer.Rev) {
	for id, rev := range final {
		if f.seen[id] != rev && f.due(id) {
			f.w.log.violated("feeds are exact", "follower %d of %s has seen %s of %s, which has %s", f.n, f.d.name, f.seen[id],
				id, rev)
		}
	}
}

// due reports whether the last acknowledged edit of a document is so old that the follower must have seen it.
func (f *follower) due(id string) bool {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	acks := f.d.mu.docs[id].acks
	return len(acks) == 0 || time.Since(acks[len(acks)-1].at) > wokenWithin
}

// watchJobs checks who holds the jobs.
func (w *world) watchJobs() {
	type held struct {
		token int64
		since time.Time
		by    *life
	}
	known := map[string]held{}
	for w.running() {
		time.Sleep(300 * time.Millisecond)
		now := map[string]held{}
		for j, err := range w.truth.Jobs(w.t.Context()) {
			if err != nil {
				w.log.violated("jobs can be read", "%v", err)
				return
			}
			if j.State != layer.JobRunning {
				continue
			}
			key := j.Type + " " + j.ID
			h, ok := known[key]
			if !ok || h.token != j.Token {
				h = held{token: j.Token, since: time.Now()}
				for _, n := range w.nodes {
					n.mu.Lock()
					if n.name == j.Worker {
						h.by = n.mu.last
					}
					n.mu.Unlock()
				}
			}
			now[key] = h
			if h.by == nil {
				continue
			}
			within := heldWithin
			if j.Type == errandJobs { // all other nodes may have just begun another one
				within += errandTakes
			}
			lost := h.by.lost()
			if lost.IsZero() || time.Since(lost) < within || time.Since(h.since) < within {
				continue
			}
			if w.healthy(within) > 0 && !w.wasFull(within) {
				w.log.violated("jobs are held by the living", "%s is held by life %d of %s, which has been lost for %v", key,
					h.by.number, h.by, time.Since(lost))
			}
		}
		known = now
	}
}

// handedOver checks that a node that has left regularly, which began at a time, has no job any more.
func (w *world) handedOver(l *life, begun time.Time) {
	if time.Since(begun) < handedOverWithin {
		time.Sleep(handedOverWithin - time.Since(begun))
	}
	if _, ok := l.clearSince(); !ok || w.wasFull(time.Since(begun)) {
		return // it could not tell the store
	}
	for j, err := range w.truth.Jobs(w.t.Context()) {
		if err == nil && j.State == layer.JobRunning && j.Worker == l.name && j.Type != errandJobs {
			w.log.violated("a node that leaves hands over its jobs", "%s left %v ago and holds %s %s", l, time.Since(begun),
				j.Type, j.ID)
		}
	}
}

// deleted checks that nobody works for a deleted database after some time.
func (w *world) deleted(db *layer.Database) {
	number := actors.Of(db).Number()
	name := db.Name()
	begun := time.Now()
	for time.Since(begun) < heldWithin || w.healthy(heldWithin) < len(w.alive()) || w.wasFull(heldWithin) {
		if time.Since(begun) > 30*time.Second || !w.running() && time.Since(begun) > heldWithin {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	for j, err := range w.truth.Jobs(w.t.Context()) {
		if err != nil {
			w.log.violated("jobs can be read", "%v", err)
			return
		}
		if j.State != layer.JobFinished && strings.Contains(string(j.Data), fmt.Sprintf("%q", name)) {
			w.log.violated("nobody works for what was deleted", "%s (%d): job %s %s is %s: %s", name, number, j.Type, j.ID,
				j.State, j.Data)
		}
	}
	for _, l := range w.alive() {
		if since, ok := l.clearSince(); !ok || time.Since(since) < heldWithin {
			continue
		}
		l.actors.EachActor(nil, func(n actors.Node, parent string, _ int) bool {
			if strings.Contains(n.ID, "database:"+name+"/") && n.Kind == "indexer" {
				w.log.violated("nobody works for what was deleted", "%s has %s (%s)", l, n.ID, n.State)
			}
			return true
		})
	}
}

// checkRest checks that nodes without clients keep nothing.
func (w *world) checkRest() {
	w.until("nodes come to rest", restWithin+linger, func() string {
		for _, l := range w.alive() {
			wrong := ""
			l.actors.EachActor(nil, func(n actors.Node, _ string, _ int) bool {
				switch {
				case n.Mailbox > 0:
					wrong = fmt.Sprintf("%s: %d messages wait for %s", l, n.Mailbox, n.ID)
				case n.Kind == "shard" || n.Kind == "indexer":
					// Indexes that are kept warm keep listening to the databases that are there.
					if !w.warm(n.ID) {
						wrong = fmt.Sprintf("%s still has %s (%s)", l, n.ID, n.State)
					}
				}
				return wrong == ""
			})
			if wrong != "" {
				return wrong
			}
		}
		for j, err := range w.truth.Jobs(w.t.Context()) {
			if err != nil {
				return err.Error()
			}
			if j.State == layer.JobRunning {
				return fmt.Sprintf("job %s %s runs on %s", j.Type, j.ID, j.Worker)
			}
		}
		return ""
	})
}

// warm reports whether an actor is a shard of a database whose index is kept warm.
func (w *world) warm(id string) bool {
	for _, d := range w.dbs {
		if strings.Contains(id, "database:"+d.name+"/shard:") {
			return true
		}
	}
	return false
}

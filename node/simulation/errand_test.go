package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/peers"
)

// Errands are jobs that do nothing. Unlike indexes, for which requests ask again and again, nobody notices if one is
// forgotten, but the simulation.
const (
	errandJobs  = "errand"
	errandLease = 1600 * time.Millisecond
	errandIDs   = 3
	// errandTakes is how long an errand takes at most: a worker renews its lease four times in its length.
	errandTakes = 1500*time.Millisecond + errandLease/4
	// errandsWithin is how long the last errand may take when the troubles are over: nodes may be busy with others, and
	// a worker that has just died must be noticed.
	errandsWithin = 10 * time.Second
)

// errands are what the clients know about errands.
type errands struct {
	sync.Mutex
	asked map[string]time.Time // by id: when the last acknowledged request for it began
	begun map[string]time.Time // by id: when the latest of the runs began that have ended, or may have
	ended map[string]bool      // by id and token
}

// asker asks for errands through any node.
func (w *world) asker() {
	r := source(w.seed, "asker", 0)
	for w.running() {
		time.Sleep(time.Duration(r.IntN(800)) * time.Millisecond)
		l, id := w.any(r), fmt.Sprint(r.IntN(errandIDs))
		if l == nil {
			continue
		}
		begun := time.Now()
		ctx, cancel := context.WithTimeout(l.over, 2*time.Second)
		err := l.store.Enqueue(ctx, errandJobs, id, nil)
		cancel()
		if err == nil {
			w.log.count("errands")
			w.errands.Lock()
			w.errands.asked[id] = begun
			w.errands.Unlock()
		}
	}
}

// runErrands is a worker of a node, until the node's life is over or the world quits.
func (l *life) runErrands() {
	r := source(l.w.seed, "errands of "+l.name, l.number)
	ctx, cancel := context.WithCancel(l.over)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-l.w.errandsOver:
		case <-ctx.Done():
		}
	}()
	worker := layer.Worker{Name: l.name, Life: fmt.Sprint(l.number), Lease: errandLease, Gone: peers.Of(l.cluster).Left}
	for ctx.Err() == nil {
		c, err := l.store.Claim(ctx, errandJobs, worker)
		switch {
		case err != nil:
			time.Sleep(100 * time.Millisecond)
		case c.Job == nil:
			l.awaitErrand(ctx, c)
		default:
			l.run(ctx, c.Job, r)
		}
	}
}

// awaitErrand waits until there may be an errand.
func (l *life) awaitErrand(ctx context.Context, c layer.Claimed) {
	defer c.Watch.Cancel()
	wait := time.Minute
	if c.Next != nil {
		wait = time.Until(c.Next.At)
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-c.Watch.Done():
	}
}

// run runs one errand, and checks that no other worker ends the same run.
func (l *life) run(ctx context.Context, job *layer.Job, r *rand.Rand) {
	begun, takes := time.Now(), time.Duration(r.IntN(1500))*time.Millisecond
	for time.Since(begun) < takes {
		time.Sleep(errandLease / 4)
		if layer.KindOf(l.store.Renew(ctx, job, nil)) == layer.Conflict {
			return
		}
	}
	key := fmt.Sprint(job.ID, " ", job.Token)
	err := l.store.Finish(ctx, job, nil)
	if layer.KindOf(err) == layer.Conflict {
		return // taken over
	}
	l.w.errands.Lock()
	defer l.w.errands.Unlock()
	if err == nil && l.w.errands.ended[key] {
		l.w.log.violated("a run of a job ends once", "%s: errand %s", l, key)
	}
	l.w.errands.ended[key] = l.w.errands.ended[key] || err == nil // without an answer it may have ended
	if begun.After(l.w.errands.begun[job.ID]) {
		l.w.errands.begun[job.ID] = begun
	}
}

// checkErrands waits until all errands are done that were asked for, each by a run that began afterwards, and no other
// is left: of a request, or of an end, that was not answered. Workers must not be stopped before, since nobody would
// take a job over that was left running.
func (w *world) checkErrands() {
	w.until("errands are done", errandsWithin, func() string {
		w.errands.Lock()
		defer w.errands.Unlock()
		for id, asked := range w.errands.asked {
			if begun := w.errands.begun[id]; begun.Before(asked) {
				return fmt.Sprintf("errand %s was asked for %v ago, and its last run began %v ago", id, time.Since(asked),
					time.Since(begun))
			}
		}
		for j, err := range w.truth.Jobs(w.t.Context()) {
			if err != nil {
				return err.Error()
			}
			if j.Type == errandJobs && j.State != layer.JobFinished {
				return fmt.Sprintf("errand %s is %s", j.ID, j.State)
			}
		}
		return ""
	})
}

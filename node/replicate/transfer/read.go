package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/divandb/divan/node/replicate/couch"
)

// errAtOnce is why a feed is opened again that ended without an error.
var errAtOnce = errors.New("the feed ends at once, again and again")

// errClosed ends a reader whose run ends.
var errClosed = errors.New("transfer: the run ends")

// read reads a stream to its end: that of the feed, or for a continuous replication never. A feed that ends early is
// opened again where it ended. Failures without progress are repeated as often as requests are.
func (r *Run) read(ctx context.Context, stream int) error {
	s := r.o.Spec
	feed := couch.Feed{Since: r.checks.start, Continuous: s.Continuous, Winners: s.WinningRevsOnly, Filter: &s.Filter,
		Shard: r.track.streams[stream].shard}
	failures := 0
	defer r.o.Repeats.Ended(&feed)
	for {
		before := feed.Since
		last, err := r.o.Source.Changes(ctx, feed, func(c *couch.Change) error {
			if string(feed.Since) == string(before) { // the first row
				r.o.Repeats.Ended(&feed)
			}
			feed.Since = c.Seq
			return r.enqueue(stream, c)
		})
		moved := string(before) != string(feed.Since)
		switch {
		case errors.Is(err, errClosed):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && last != nil:
			failures = 0
			r.o.Repeats.Ended(&feed)
			if !r.reached(stream, last, &feed) || !s.Continuous {
				return nil
			}
			continue
		case err == nil && !s.Continuous:
			return nil // a server that does not say where its feed ends
		case errors.Is(err, couch.ErrResharded):
			return err
		}
		if moved {
			failures = 0
		}
		if err := r.again(ctx, &failures, &feed, err); err != nil {
			return err
		}
	}
}

// again waits before a feed is opened again after an error, or returns the error if that happens too often.
func (r *Run) again(ctx context.Context, failures *int, feed *couch.Feed, err error) error {
	var e *couch.Error
	ended := err == nil
	if ended {
		err = errAtOnce
	}
	if errors.As(err, &e) && e.Outage {
		*failures = 0
	}
	if !ended && (!errors.As(err, &e) || !e.Transient()) || *failures >= r.o.Spec.RetriesPerRequest {
		return failed("changes_reader_failed", err)
	}
	wait := time.Duration(0)
	if *failures > 0 || ended {
		r.o.Repeats.Failed(feed, err)
		wait = min(250*time.Millisecond<<min(*failures, 10), time.Minute)
	}
	*failures++
	r.log.Debug("the feed of the source is opened again", "wait", wait, "error", err)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// enqueue hands a change to the workers.
func (r *Run) enqueue(stream int, c *couch.Change) error {
	switch {
	case c.ID == "":
		r.log.Warn("a change without a document id was left out")
		return nil
	case r.o.MaxID > 0 && len(c.ID) > r.o.MaxID:
		r.log.Error("a document was left out because its id is too long", "id", c.ID[:64]+"...")
		r.add(Stats{DocWriteFailures: 1})
		return nil
	}
	change := *c
	change.Revs = slices.Clone(c.Revs)
	if !r.feed.put(item{stream, change}) {
		return errClosed
	}
	return nil
}

// reached notes the sequence at the end of a feed, which may be later than that of its last change.
func (r *Run) reached(stream int, last json.RawMessage, feed *couch.Feed) bool {
	if string(last) == string(feed.Since) {
		return true
	}
	feed.Since = last
	return r.feed.put(item{stream, couch.Change{Seq: last}})
}

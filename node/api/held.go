package api

import "net/http"

// What a feed keeps of its body while it waits, such as a list of ids, may be held for hours. So a feed waits for that
// memory when the size of its body is known and nothing of it is in memory. It asks for what the body may come to, and
// gives back what it does not need once it is parsed. While it waits it holds nothing that other requests wait for.

var errFeedsHold = &fault{
	status: http.StatusServiceUnavailable, name: "service unavailable",
	reason: "Feeds that wait hold all the memory for the lists and selectors of feeds " +
		"(a part of http.bodies of the node's settings). Try again later.",
	header: http.Header{"Retry-After": {retryAfter}},
}

// reservation is what a feed holds of the lane for what it keeps.
type reservation struct {
	cost  func(size int64) int64 // of what a body of that size comes to, about; nil: the request keeps nothing
	made  bool
	share *share
}

// reserve waits for the memory of what a body of that size comes to. Only the first call counts.
func (q *request) reserve(size int64) error {
	if !q.keeps.asks() {
		return nil
	}
	n := q.keeps.cost(size)
	if n > freeBody {
		s, err := q.srv.budget.held.take(q.ctx(), q.client(), n)
		if err != nil {
			return err
		}
		q.keeps.share = s
	}
	q.keeps.made = true
	return nil
}

// asks reports whether it waits for the size of the body.
func (r *reservation) asks() bool { return r.cost != nil && !r.made }

// willKeep says that the request is a feed that keeps something of its body, or of its parameters, of that many bytes.
func (q *request) willKeep(c *changesQuery, cost func(size int64) int64) {
	if c.waits() {
		q.keeps.cost = cost
	}
}

// keep has the request hold no more than the n bytes that its filter keeps.
func (q *request) keep(c *changesQuery, n int64) error {
	if !c.waits() {
		for _, s := range q.parsed {
			s.shrink(n)
		}
		return nil
	}
	l := &q.srv.budget.held
	if n > l.most {
		return errTooMany
	}
	if n <= freeBody {
		n = 0
	}
	if q.keeps.share == nil {
		q.keeps.share = &share{lane: l, client: q.client()}
	}
	if err := q.keeps.share.grow(n); err != nil { // it holds a body, and must not wait
		return err
	}
	q.keeps.share.shrink(n)
	q.releaseParts()
	return nil
}

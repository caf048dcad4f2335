package couch

import "sync"

// Repeats knows the requests that have failed and will be repeated, so that whoever looks at a replication that does
// not get on sees why. Its zero value is ready, and nil knows nothing. All methods are safe for concurrent use.
type Repeats struct {
	mu       sync.Mutex
	failures map[any]failure // by request
	count    int             // of failures so far
}

// failure is the last one of a request.
type failure struct {
	number int
	err    error
}

// Failed notes that an attempt of a request has failed. The key is the request's own.
func (r *Repeats) Failed(key any, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failures == nil {
		r.failures = map[any]failure{}
	}
	r.count++
	r.failures[key] = failure{r.count, err}
}

// Ended notes that a request has succeeded, or will not be repeated any more.
func (r *Repeats) Ended(key any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failures, key)
}

// Trouble returns the text of the latest failure of the requests that are still to succeed, or "" if there are none.
func (r *Repeats) Trouble() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var latest failure
	for _, f := range r.failures {
		if f.number > latest.number {
			latest = f
		}
	}
	if latest.err == nil {
		return ""
	}
	return latest.err.Error()
}

package couch

import "sync"

// Repeats knows the requests that have failed and will be repeated, so that whoever looks at a replication that does
// not get on sees why. Its zero value is ready, and nil knows nothing. All methods are safe for concurrent use.
type Repeats struct {
	mu     sync.Mutex
	errs   map[any]error // by request
	latest error         // the latest of them
}

// Failed notes that an attempt of a request has failed. The key is the request's own.
func (r *Repeats) Failed(key any, err error) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errs == nil {
		r.errs = map[any]error{}
	}
	r.errs[key], r.latest = err, err
}

// Ended notes that a request has succeeded, or will not be repeated any more.
func (r *Repeats) Ended(key any) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.errs, key)
}

// Trouble returns the text of the latest failure, or "" if no request that has failed is still to succeed.
func (r *Repeats) Trouble() string {
	if r == nil {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) == 0 {
		return ""
	}
	return r.latest.Error()
}

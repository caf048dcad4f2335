package relocate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// defaultPatience is how long an import waits for a server that no longer answers: long enough for a restart.
	defaultPatience = 30 * time.Second
	firstPause      = 250 * time.Millisecond
	longestPause    = 4 * time.Second
)

// side is a server that an import asks. Requests that do not reach it are repeated for a while. Its methods may be
// called at once.
type side struct {
	*Client
	name     string // for people
	patience time.Duration
	out      *Progress

	mu struct {
		sync.Mutex
		away time.Time // since when it has not answered; zero if it has answered the last request
	}
}

// unreachable is an error of the network, before a server has answered completely.
type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

// goneError ends a request for which a side has waited in vain.
type goneError struct{ error }

func (e goneError) Unwrap() error { return e.error }

// isAway reports whether an error may be over once the server has started again. A server that has been silent was
// waited for already.
func isAway(err error) bool {
	if e := (*answerError)(nil); errors.As(err, &e) {
		return e.status == http.StatusBadGateway || e.status == http.StatusServiceUnavailable ||
			e.status == http.StatusGatewayTimeout
	}
	return errors.As(err, new(unreachable)) && !errors.As(err, new(errSilent)) &&
		!errors.As(err, new(*tls.CertificateVerificationError))
}

// ask is call, but waits for a server that is away. It must only be used for requests that may be repeated. The error
// is a goneError if the server was away for too long.
func (s *side) ask(ctx context.Context, method, path string, body []byte, into any) error {
	return s.repeat(ctx, false, func() error { return s.call(ctx, method, path, body, into) })
}

// replicate is ask for POST /_replicate, which may last for hours and outlive many restarts. A repeated request joins
// the replication of the first.
func (s *side) replicate(ctx context.Context, body []byte, into any) error {
	return s.repeat(ctx, true, func() error { return s.call(ctx, http.MethodPost, "/_replicate", body, into) })
}

// repeat repeats a call while the server is away. joins says that a call continues what an earlier one has begun: one
// that failed after a long time was served until then, and the server is waited for anew. Other calls would only fail
// again after as long.
func (s *side) repeat(ctx context.Context, joins bool, call func() error) error {
	var waited time.Duration
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		err := call()
		if ctx.Err() != nil {
			return err
		}
		if !isAway(err) {
			if err == nil || errors.As(err, new(*answerError)) {
				s.answers()
			}
			return err
		}
		// A node whose store is away takes a while for each error too, but less than this.
		served := time.Since(began)
		if !joins || served < s.patience/2 {
			served = 0
		} else {
			waited, pause = 0, firstPause
		}
		// Others may be answered meanwhile, so the pauses are counted too.
		if s.awayFor(served, err)+pause > s.patience {
			return goneError{fmt.Errorf("%s has not answered for %s: %w", s.name, s.patience, err)}
		}
		if waited+pause > s.patience {
			return goneError{fmt.Errorf("%s answers other requests, but has not answered this one for %s: %w", s.name,
				s.patience, err)}
		}
		waited += pause
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// awayFor records that a request has failed, and returns for how long the server has been away. served is how long the
// server worked on the request before, if that shows that it was there, or 0.
func (s *side) awayFor(served time.Duration, err error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case served > 0:
		if now.Sub(s.mu.away) > served { // once for requests that are broken off together
			s.out.Say("%s broke off a request after %s; repeating it, for up to %s: %v", s.name,
				served.Round(time.Second), s.patience, err)
		}
		s.mu.away = now
	case s.mu.away.IsZero():
		s.out.Say("%s does not answer; waiting for it, up to %s: %v", s.name, s.patience, err)
		s.mu.away = now
	}
	return now.Sub(s.mu.away)
}

// answers records that the server has answered.
func (s *side) answers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.away.IsZero() {
		s.mu.away = time.Time{}
		s.out.Say("%s answers again", s.name)
	}
}

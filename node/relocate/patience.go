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
	var waited time.Duration
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := s.call(ctx, method, path, body, into)
		if ctx.Err() != nil {
			return err
		}
		if !isAway(err) {
			s.answers()
			return err
		}
		// Others may be answered meanwhile, as by a proxy that only ends long requests, so the pauses are counted too.
		if s.awayFor(err)+pause > s.patience || waited+pause > s.patience {
			return goneError{fmt.Errorf("%s has not answered for %s: %w", s.name, s.patience, err)}
		}
		waited += pause
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// awayFor records that a request has failed, and returns for how long the server has been away.
func (s *side) awayFor(err error) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.away.IsZero() {
		s.mu.away = time.Now()
		s.out.Say("%s does not answer; waiting for it, up to %s: %v", s.name, s.patience, err)
	}
	return time.Since(s.mu.away)
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

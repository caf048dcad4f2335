package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// TransactOptions of Transact. The zero value is right for reads and for writes that are idempotent.
type TransactOptions struct {
	// TransactionID, where set, is a key that Transact writes in the transaction and looks up after a commit whose result is unknown:
	// where it is there, the transaction did commit and the last attempt's result stands (clause C4, rfc-003 "Handling of Unknown
	// Commit Results"). The value is the commit's versionstamp, 10 bytes. The caller clears the key later, asynchronously.
	TransactionID []byte
	// MaxAttempts bounds the attempts; 0 is no bound but ctx, and the engine's where it is a RetryLimiter.
	MaxAttempts int
}

// Committed is how a transaction ended.
type Committed struct {
	// Versionstamp of the commit; zero where nothing was written, or where no TransactionID was given and the commit had to be retried after an
	// unknown result.
	Versionstamp Versionstamp
	// Version of the commit, -1 where nothing was written.
	Version int64
	// Attempts that were made, 1 or more.
	Attempts int
}

const (
	firstBackoff = 2 * time.Millisecond
	maxBackoff   = time.Second
)

// Transact is the one retry loop: it runs fn in a new transaction and commits, again and again with capped exponential backoff and
// jitter, until it commits, fn or the commit fails for good, or ctx ends. fn may run several times and must have no effect outside tx
// but to overwrite what it returns. An error from fn ends the loop unless it wraps a retryable engine error.
//
// Where the loop ends with an engine error and an earlier commit may have happened, MaybeCommitted is true of it.
func Transact[T any](ctx context.Context, e Engine, o TransactOptions, fn func(tx Transaction) (T, error)) (T, Committed, error) {
	var result, zero T
	var unknown unknownCommits
	if l, ok := e.(RetryLimiter); ok && o.MaxAttempts == 0 {
		o.MaxAttempts = l.MaxAttempts()
	}
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		c, done, err := attemptOnce(ctx, e, o, &result, &unknown, fn)
		c.Attempts = attempt
		if done {
			return result, c, nil
		}
		unknown.note(err)
		if !Retryable(err) || (o.MaxAttempts > 0 && attempt >= o.MaxAttempts) {
			return zero, c, unknown.mark(err)
		}
		if err := sleep(ctx, backoff/2+rand.N(backoff/2+1)); err != nil {
			return zero, c, unknown.mark(err)
		}
		backoff = min(backoff*2, maxBackoff)
	}
}

// unknownCommits is what the loop knows of its commits whose result was unknown.
type unknownCommits struct {
	any  bool // there was one: the transaction id must be looked up
	open bool // one may have happened; not so once the id was looked up and is not there
}

func (u *unknownCommits) note(err error) {
	if MaybeCommitted(err) {
		u.any, u.open = true, true
	}
}

// mark makes MaybeCommitted true of an engine's error where it is of the loop. An error of fn's own is left: fn decided on what it read.
func (u *unknownCommits) mark(err error) error {
	var e *Error
	if !u.open || !errors.As(err, &e) || e.Maybe {
		return err
	}
	maybe := *e
	maybe.Maybe = true
	return &maybe
}

// attemptOnce runs one transaction. result is overwritten only by a finished fn, so that a commit found by its id keeps the result of the attempt
// that made it.
func attemptOnce[T any](ctx context.Context, e Engine, o TransactOptions, result *T, unknown *unknownCommits, fn func(tx Transaction) (T, error)) (c Committed, done bool, err error) {
	c.Version = -1
	tx := e.Begin(ctx)
	defer tx.Cancel()
	if o.TransactionID != nil && unknown.any {
		stamp, err := tx.Get(o.TransactionID).Wait()
		if err != nil {
			return c, false, err
		}
		if len(stamp) == len(c.Versionstamp) {
			copy(c.Versionstamp[:], stamp)
			c.Version = c.Versionstamp.Version()
			return c, true, nil
		}
		unknown.open = false
	}
	r, err := fn(tx)
	if err != nil {
		return c, false, err
	}
	*result = r
	if o.TransactionID != nil && tx.Wrote() {
		tx.SetVersionstampedValue(o.TransactionID, make([]byte, len(c.Versionstamp)), 0)
	}
	if err := tx.Commit(); err != nil {
		return c, false, err
	}
	if c.Version, err = tx.CommittedVersion(); err != nil {
		return c, false, err
	}
	if c.Version >= 0 {
		if c.Versionstamp, err = tx.Versionstamp(); err != nil {
			return c, false, err
		}
	}
	return c, true, nil
}

// Version is the commit version in a versionstamp.
func (v Versionstamp) Version() int64 {
	var n int64
	for _, b := range v[:8] {
		n = n<<8 | int64(b)
	}
	return n
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		code := CodeCancelled
		if ctx.Err() == context.DeadlineExceeded {
			code = CodeTimedOut
		}
		return NewError(code, "gave up retrying", nil)
	case <-t.C:
		return nil
	}
}

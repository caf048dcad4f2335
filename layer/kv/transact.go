package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// TransactOptions are the options of Transact. The zero value is right for reads and for idempotent writes.
type TransactOptions struct {
	// TransactionID, if set, is a key that Transact writes in the transaction. After a commit with an unknown result
	// it looks the key up: if it exists, the transaction was committed and the last attempt's result stands (clause
	// C4, rfc-003 "Handling of Unknown Commit Results"). The value is the commit's versionstamp, 10 bytes. The caller
	// clears the key later, asynchronously.
	TransactionID []byte
	// MaxAttempts bounds the attempts. 0 leaves the bound to ctx and to an engine that is a RetryLimiter.
	MaxAttempts int
	// Divisible says that the caller can do the same work in smaller parts and prefers that to retrying the whole:
	// Transact gives up after a few attempts that were too old or met conflicts, with an error for which TooMuch is
	// true. Nothing was committed then, unless MaybeCommitted is true of the error, which happens only without a
	// TransactionID.
	Divisible bool
}

// Committed describes a finished transaction.
type Committed struct {
	// Versionstamp of the commit; zero if nothing was written, or if no TransactionID was given and the commit had to
	// be retried after an unknown result.
	Versionstamp Versionstamp
	// Version of the commit; -1 if nothing was written.
	Version int64
	// Attempts is the number of attempts, at least 1.
	Attempts int
}

const (
	firstBackoff = 2 * time.Millisecond
	// MaxBackoff is the longest pause between attempts.
	MaxBackoff = time.Second
	// maxOldBackoff bounds the pause after an attempt that was too old: there is no contention to wait for.
	maxOldBackoff = 50 * time.Millisecond
)

// Transact gives up after this many consecutive attempts that were too old. One may be an accident, such as a pause
// of the process. A few are enough if they took about as long as a transaction lives. Shorter ones, as after a broken
// connection, say less about the transaction and cost little.
const (
	divisibleOld       = 2
	longOld            = 3
	maxOld             = 50
	maxOldReads        = 200 // of a Patience, which does not pause between attempts
	divisibleConflicts = 8
)

// Repeat calls f until that is not to be called again, with capped exponential backoff and jitter, and returns its last
// error. It is the only loop that tries transactions again: that of Transact, and of work of which each attempt takes
// more than one transaction. most bounds the pause before the next attempt; MaxBackoff is no further bound. If ctx ends
// during a pause, the error has CodeCancelled or CodeTimedOut.
func Repeat(ctx context.Context, f func(attempt int) (again bool, most time.Duration, err error)) error {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		again, most, err := f(attempt)
		if !again {
			return err
		}
		if most <= 0 {
			continue
		}
		pause := min(backoff, most)
		if err := sleep(ctx, pause/2+rand.N(pause/2+1)); err != nil {
			return err
		}
		backoff = min(backoff*2, MaxBackoff)
	}
}

// Transact runs fn in a new transaction and commits, repeatedly as Repeat does, until the commit succeeds, fn or the
// commit fails with an error that no retry cures, or ctx ends. fn may run several times; outside tx it may only
// overwrite the variables of its result. An error from fn ends the loop unless it wraps a retryable engine error.
//
// If every attempt is too old, the loop ends with an error for which TooMuch is true; the caller should then do less
// per transaction.
//
// If the loop ends with an engine error and an earlier commit may have happened, MaybeCommitted is true of the error.
func Transact[T any](ctx context.Context, e Engine, o TransactOptions, fn func(tx Transaction) (T, error)) (T,
	Committed, error) {
	ended := Trace(ctx, TracedTransaction)
	if ended == nil {
		return transact(ctx, e, o, fn)
	}
	result, c, err := transact(ctx, e, o, fn)
	ended(TraceEnd{Attempts: c.Attempts, Version: c.Version, Err: err})
	return result, c, err
}

func transact[T any](ctx context.Context, e Engine, o TransactOptions, fn func(tx Transaction) (T, error)) (T,
	Committed, error) {
	var result, zero T
	var c Committed
	var unknown unknownCommits
	var excess excess
	if l, ok := e.(RetryLimiter); ok && o.MaxAttempts == 0 {
		o.MaxAttempts = l.MaxAttempts()
	}
	counts := counting(e)
	err := Repeat(ctx, func(attempt int) (again bool, most time.Duration, err error) {
		began := time.Now()
		var done bool
		c, done, err = attemptOnce(ctx, e, o, &result, &unknown, counts, fn)
		if c.Attempts = attempt; done {
			return false, 0, nil
		}
		unknown.note(err)
		if excess.note(err, time.Since(began), maxOld, o.Divisible) {
			err = tooMuch(err)
			if unknown.open && o.TransactionID != nil && !excess.asked {
				// An earlier attempt may have been committed: the next attempt only looks up the transaction id.
				excess = excessAsked
				fn = func(Transaction) (T, error) { return zero, err }
				counts.failed(err, true)
				return true, 0, err
			}
		}
		again = Retryable(err) && (o.MaxAttempts <= 0 || attempt < o.MaxAttempts)
		if counts.failed(err, again); !again {
			return false, 0, err
		}
		if most = MaxBackoff; excess.old > 0 {
			most = maxOldBackoff
		}
		return true, most, err
	})
	if err != nil {
		return zero, c, unknown.mark(err)
	}
	return result, c, nil
}

// excess tracks whether the transaction does too much to ever commit.
type excess struct {
	old, conflicts int           // consecutive attempts
	spent          time.Duration // time spent in the attempts that were too old
	asked          bool
}

var excessAsked = excess{asked: true}

// note records how an attempt ended and reports whether Transact gives up. most bounds the consecutive attempts that
// were too old.
func (x *excess) note(err error, took time.Duration, most int, divisible bool) bool {
	switch {
	case IsCode(err, CodeTooOld) && Retryable(err):
		x.conflicts = 0
		x.old++
		x.spent += took
		return x.old >= most || divisible && x.old >= divisibleOld ||
			x.old >= longOld && x.spent > longOld*TransactionSeconds*time.Second/2
	case IsCode(err, CodeNotCommitted) && Retryable(err):
		x.old, x.spent = 0, 0
		x.conflicts++
		return divisible && x.conflicts >= divisibleConflicts
	}
	x.old, x.spent, x.conflicts = 0, 0, 0
	return false
}

// Patience bounds the retries of reads outside of Transact that continue over several transactions. It reports when
// the same reads have been too old so often that they cannot succeed. The zero value is ready. Not safe for
// concurrent use.
type Patience struct {
	excess excess
	last   time.Time
}

// Tried records the error of an attempt that made no progress. It returns err, wrapped so that TooMuch is true once
// there were too many such attempts.
func (p *Patience) Tried(err error) error {
	now, took := time.Now(), time.Duration(0)
	if !p.last.IsZero() {
		took = now.Sub(p.last)
	}
	p.last = now
	if p.excess.note(err, took, maxOldReads, false) {
		return tooMuch(err)
	}
	return err
}

// Progress resets the count. Call it when reads have advanced.
func (p *Patience) Progress() { *p = Patience{} }

// tooMuch wraps err as the error of a transaction that is not tried again.
func tooMuch(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	out := &Error{Code: e.Code, Message: "the work does not fit into one transaction", Maybe: e.Maybe,
		TooMuch: true, Err: err}
	return out
}

// unknownCommits records commits of the loop whose result was unknown.
type unknownCommits struct {
	any  bool // there was such a commit: the transaction id must be looked up
	open bool // one may have happened; false once a lookup did not find the id
}

func (u *unknownCommits) note(err error) {
	if MaybeCommitted(err) {
		u.any, u.open = true, true
	}
}

// mark makes MaybeCommitted true of an engine error if an earlier commit of the loop may have happened. fn's own
// errors are left alone: fn decided on what it read.
func (u *unknownCommits) mark(err error) error {
	var e *Error
	if !u.open || !errors.As(err, &e) || e.Maybe {
		return err
	}
	maybe := *e
	maybe.Maybe = true
	return &maybe
}

// attemptOnce runs one transaction. It overwrites result only when fn succeeds, so that a commit found by its id
// keeps the result of the attempt that made it.
func attemptOnce[T any](ctx context.Context, e Engine, o TransactOptions, result *T, unknown *unknownCommits,
	counts *Counts, fn func(tx Transaction) (T, error)) (c Committed, done bool, err error) {
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
	began, wrote := time.Now(), tx.Wrote()
	if err := tx.Commit(); err != nil {
		return c, false, err
	}
	if wrote {
		counts.committed(time.Since(began))
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

// Version is the commit version in the versionstamp.
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

package kv

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// TransactOptions of Transact. The zero value is right for reads and for writes that are idempotent.
type TransactOptions struct {
	// TransactionID, where set, is a key that Transact writes in the transaction and looks up after a commit whose
	// result is unknown: where it is there, the transaction did commit and the last attempt's result stands (clause C4,
	// rfc-003 "Handling of Unknown Commit Results"). The value is the commit's versionstamp, 10 bytes. The caller
	// clears the key later, asynchronously.
	TransactionID []byte
	// MaxAttempts bounds the attempts; 0 is no bound but ctx, and the engine's where it is a RetryLimiter.
	MaxAttempts int
	// Divisible says that the caller can do the same in smaller parts, and would rather do so than try the whole again
	// and again: Transact gives up after a few attempts that were too old or met conflicts, with an error of which
	// TooMuch is true. Nothing was committed then, unless MaybeCommitted is true of it, which is only without a
	// TransactionID.
	Divisible bool
}

// Committed is how a transaction ended.
type Committed struct {
	// Versionstamp of the commit; zero where nothing was written, or where no TransactionID was given and the commit
	// had to be retried after an unknown result.
	Versionstamp Versionstamp
	// Version of the commit, -1 where nothing was written.
	Version int64
	// Attempts that were made, 1 or more.
	Attempts int
}

const (
	firstBackoff = 2 * time.Millisecond
	maxBackoff   = time.Second
	// maxOldBackoff is after attempts that were too old: nobody else is in the way.
	maxOldBackoff = 50 * time.Millisecond
)

// Transact gives up after so many attempts in a row that were too old. One may be an accident, such as a pause of the
// process. A few are enough if they took about as long as a transaction lives. Shorter ones, as after a broken
// connection, say less of the transaction, and cost little.
const (
	divisibleOld       = 2
	longOld            = 3
	maxOld             = 50
	maxOldReads        = 200 // of a Patience, which does not pause
	divisibleConflicts = 8
)

// Transact is the one retry loop: it runs fn in a new transaction and commits, again and again with capped exponential
// backoff and jitter, until it commits, fn or the commit fails for good, or ctx ends. fn may run several times and must
// have no effect outside tx but to overwrite what it returns. An error from fn ends the loop unless it wraps a
// retryable engine error.
//
// A transaction that is too old in each attempt is not tried for ever: the loop ends with an error of which TooMuch is
// true. It is for the caller to do less.
//
// Where the loop ends with an engine error and an earlier commit may have happened, MaybeCommitted is true of it.
func Transact[T any](ctx context.Context, e Engine, o TransactOptions, fn func(tx Transaction) (T, error)) (T,
	Committed, error) {
	var result, zero T
	var unknown unknownCommits
	var excess excess
	if l, ok := e.(RetryLimiter); ok && o.MaxAttempts == 0 {
		o.MaxAttempts = l.MaxAttempts()
	}
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		began := time.Now()
		c, done, err := attemptOnce(ctx, e, o, &result, &unknown, fn)
		c.Attempts = attempt
		if done {
			return result, c, nil
		}
		unknown.note(err)
		if excess.note(err, time.Since(began), maxOld, o.Divisible) {
			err = tooMuch(err)
			if unknown.open && o.TransactionID != nil && !excess.asked {
				// An earlier attempt may have been committed: the next one asks, and does nothing else.
				excess = excessAsked
				fn = func(Transaction) (T, error) { return zero, err }
				continue
			}
		}
		if !Retryable(err) || (o.MaxAttempts > 0 && attempt >= o.MaxAttempts) {
			return zero, c, unknown.mark(err)
		}
		pause := backoff
		if excess.old > 0 {
			pause = min(pause, maxOldBackoff)
		}
		if err := sleep(ctx, pause/2+rand.N(pause/2+1)); err != nil {
			return zero, c, unknown.mark(err)
		}
		backoff = min(backoff*2, maxBackoff)
	}
}

// excess is what the loop knows of whether the transaction does too much.
type excess struct {
	old, conflicts int           // attempts in a row
	spent          time.Duration // in those that were too old
	asked          bool
}

var excessAsked = excess{asked: true}

// note counts how an attempt ended, and reports whether Transact gives up now. most is how many attempts may be too
// old.
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

// Patience is for reads outside of Transact that go on in one transaction after another: it tells when the same reads
// have been too old so often that they will never be there in time. The zero value is ready. Not safe for concurrent
// use.
type Patience struct {
	excess excess
	last   time.Time
}

// Tried takes an error of reads that got no further than those before, and returns it, as one of which TooMuch is true
// where patience is at an end.
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

// Progress is called when reads have got further.
func (p *Patience) Progress() { *p = Patience{} }

// tooMuch is err as that of a transaction that is not tried again.
func tooMuch(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	out := &Error{Code: e.Code, Message: "the transaction does more than fits one", Maybe: e.Maybe,
		TooMuch: true, Err: err}
	return out
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

// mark makes MaybeCommitted true of an engine's error where it is of the loop. An error of fn's own is left: fn decided
// on what it read.
func (u *unknownCommits) mark(err error) error {
	var e *Error
	if !u.open || !errors.As(err, &e) || e.Maybe {
		return err
	}
	maybe := *e
	maybe.Maybe = true
	return &maybe
}

// attemptOnce runs one transaction. result is overwritten only by a finished fn, so that a commit found by its id keeps
// the result of the attempt that made it.
func attemptOnce[T any](ctx context.Context, e Engine, o TransactOptions, result *T, unknown *unknownCommits,
	fn func(tx Transaction) (T, error)) (c Committed, done bool, err error) {
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

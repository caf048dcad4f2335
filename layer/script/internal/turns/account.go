package turns

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Class is the purpose of a call. Within one database, calls of a higher class go first.
type Class int

// The classes of calls.
const (
	Background Class = iota // index builds
	// Query is for calls that somebody waits for: filters, reductions, updating an index for a query.
	Query
	// Interactive is for calls that a write waits for: validations, updating indexes within writes, the check of a
	// design document.
	Interactive
	classes
)

func (c Class) String() string { return [...]string{"background", "query", "interactive"}[c] }

type chargeKey struct{}

type charge struct {
	database string
	class    Class
}

// Charge returns a context whose function calls are charged to database. Databases share the processors fairly,
// whatever their functions do. Calls without a charge share among themselves, with class Query.
func Charge(ctx context.Context, database string, class Class) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{database, class})
}

func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{class: Query}
}

// BusyError reports that a call waited too long for its turn. It says nothing about the function or its document.
type BusyError struct {
	// Database is the database that the call is charged to.
	Database string
	// Waited is how long the call waited in total.
	Waited time.Duration
	// Others reports that the database has used little recently: the functions of others keep the processors busy.
	Others bool
}

func (e *BusyError) Error() string {
	if e.Database == "" {
		return fmt.Sprintf("a function waited %v for a processor; try again later", e.Waited.Round(time.Millisecond))
	}
	why := "functions of this database run for a long time"
	if e.Others {
		why = "functions of many databases are waiting"
	}
	return fmt.Sprintf("a function of %s waited %v for a processor, because %s; try again later",
		e.Database, e.Waited.Round(time.Millisecond), why)
}

// maxInteractiveWait is shorter than a transaction's lifetime in FoundationDB.
const maxInteractiveWait = 4 * time.Second

// handicap is added to a database's recent processor time, so that a waiting call of a higher class goes first.
var handicap = [classes]float64{Background: 1, Query: 0.5}

const (
	// halfLife is the half-life of recorded processor time.
	halfLife = 5 * time.Second
	// heavyAfter is how many seconds the long calls of one class of a database may have used recently, and heavyCalls
	// how many there may have been, before its next calls of the class begin as long ones.
	heavyAfter = 0.25
	heavyCalls = 1.5
)

// account is one database's use of the sandbox. Guarded by Turns.mu.
type account struct {
	name  string
	used  decaying // seconds, of all calls
	did   [classes]load
	longs int // long calls that have begun and not ended
	held  int // turns between Begin and End
	// queues are the waiting turns: those that have not begun, by class, and paused long calls.
	queues  [classes][]*Turn
	resumed []*Turn
	waiting int
	place   int // index in Turns.mu.waiting
	// passed is the time since which others were preferred to it: a second of that counts as much as a second of
	// processor time. Otherwise a stream of databases that are used for the first time would starve all others.
	passed int64
}

// load is what calls of one class have done recently. Each class is judged for itself: while an index with a slow
// function is built, the filters and validations of its database remain short calls.
type load struct {
	used  decaying // seconds, of all calls
	spent decaying // seconds, of long calls
	calls decaying // number of calls
	long  decaying // number of long calls
}

// decaying is a sum that decays over time.
type decaying struct {
	sum float64
	at  int64
}

func (d *decaying) value(t int64) float64 {
	if d.sum == 0 {
		return 0
	}
	return d.sum * math.Exp2(-float64(t-d.at)/float64(halfLife))
}

func (d *decaying) add(t int64, seconds float64) {
	d.sum, d.at = d.value(t)+seconds, t
}

// heavy reports whether calls begin as long ones, because most of the recent time of such calls went into long ones.
func (l *load) heavy(t int64) bool {
	if spent := l.spent.value(t); spent > heavyAfter && 4*spent > l.used.value(t) {
		return true
	}
	long := l.long.value(t)
	return long > heavyCalls && 16*long > l.calls.value(t)
}

// beginsLong reports whether a waiting call counts as a long one from its beginning.
func (a *account) beginsLong(t *Turn, n int64) bool { return t.long.Load() || a.did[t.class].heavy(n) }

package turns

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Class says what a call of a function is for. Within one database the higher class goes first.
type Class int

// The classes of calls.
const (
	Background Class = iota // builds of indexes
	// Query is for what somebody waits for: filters, reductions, an index that a query brings up to date.
	Query
	// Interactive is for what a write waits for: validations, indexes that writes keep up to date, the check of a
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

// Charge returns a context whose calls of functions are the database's. Databases share the processors fairly, whatever
// their functions do. Calls without a charge share among themselves, as Query.
func Charge(ctx context.Context, database string, class Class) context.Context {
	return context.WithValue(ctx, chargeKey{}, charge{database, class})
}

func chargeOf(ctx context.Context) charge {
	if c, ok := ctx.Value(chargeKey{}).(charge); ok {
		return c
	}
	return charge{class: Query}
}

// BusyError says that a call waited too long for its turn. Nothing is known of the function or its document.
type BusyError struct {
	// Database is the one that the call is charged to.
	Database string
	// Waited is how long the call waited in all.
	Waited time.Duration
	// Others says that the database has used little of late: the functions of others keep the processors busy.
	Others bool
}

func (e *BusyError) Error() string {
	if e.Database == "" {
		return fmt.Sprintf("a function waited %v for a processor; try again later", e.Waited.Round(time.Millisecond))
	}
	why := "functions of this database run for long"
	if e.Others {
		why = "the functions of many databases have to run"
	}
	return fmt.Sprintf("a function of %s waited %v for a processor, since %s; try again later",
		e.Database, e.Waited.Round(time.Millisecond), why)
}

// maxInteractiveWait is less than a transaction of FoundationDB lasts.
const maxInteractiveWait = 4 * time.Second

// handicap is how much less processor time, of late, a database with a waiting call of a higher class counts as having
// used.
var handicap = [classes]float64{Background: 1, Query: 0.5}

const (
	// halfLife is how long ago processor time counts half.
	halfLife = 5 * time.Second
	// heavyAfter is how many seconds long calls of a database may have used of late, and heavyCalls how many there may
	// have been, before its next calls begin as long ones.
	heavyAfter = 0.25
	heavyCalls = 1.5
)

// account is one database's use of the sandbox. Under turns.mu.
type account struct {
	name  string
	used  decaying // seconds, of all calls
	spent decaying // seconds, of long calls
	calls decaying // how many there were
	long  decaying // how many were long
	longs int      // long calls that have begun and not ended
	held  int      // turns between begin and end
	// queues are the turns that wait: to begin, by class, and those of long calls that go on.
	queues  [classes][]*Turn
	resumed []*Turn
	waiting int
	place   int // in turns.mu.waiting
	// passed is since when others are preferred to it: a second of that counts as much as one of used. Else a stream of
	// databases that are used for the first time would keep out all others for as long as it lasts.
	passed int64
}

// decaying is a sum that fades.
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

// heavy reports whether the account's calls begin as long ones, since most of what it used of late went into long ones.
func (a *account) heavy(t int64) bool {
	if spent := a.spent.value(t); spent > heavyAfter && 4*spent > a.used.value(t) {
		return true
	}
	long := a.long.value(t)
	return long > heavyCalls && 16*long > a.calls.value(t)
}

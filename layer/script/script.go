// Package script runs the JavaScript of design documents: map, reduce, filter and validate_doc_update functions, with
// the language and the helpers of CouchDB 3.5's QuickJS engine.
//
// A function can only compute: there is no input or output, and local time is UTC. Filters and validations have the
// clock and random numbers. Map and reduce functions do not, since an index must be the same whenever and on
// whichever node it is built: using them is an error ([Unrepeatable]) of the document or the reduction, and the
// function cannot catch it. Time per call and memory are limited, even for code that the engine itself cannot
// interrupt; see [Limits].
//
// The main types:
//
//   - [Sandbox] owns the JavaScript runtimes, keeps idle ones for reuse, and closes them.
//   - [Sandbox.Maps], [Sandbox.Reduce], [Sandbox.Filter], [Sandbox.FilterByView] and [Sandbox.Validate] compile
//     functions and return a handle that any number of goroutines may call at once. Each call borrows a runtime for
//     its duration.
//
// Functions see frozen documents, as in CouchDB: an assignment to a member of the document has no effect (in strict
// code it is a TypeError), so a function that tries to change its document disturbs neither the next function nor the
// next document. Each map function has its own global variables.
//
// Map functions that only read members of the document and emit them are evaluated on its text, without the engine,
// with the same rows (internal/direct; docs/design/direct-evaluation.md). Package internal/engine runs the others in
// the engine and enforces the limits.
//
// Processors are shared fairly between databases ([Charge], internal/turns).
//
// There are five kinds of errors. [*CompileError]: the source is wrong; refuse the design document. [*RuntimeError]:
// the function threw, or its result is not JSON; skip the document. [*LimitError]: it was stopped at a limit;
// likewise. [*BusyError]: it waited too long for a processor; try again. Any other error comes from the context or
// the machine, and says nothing about the document.
package script

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/script/internal/engine"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Limits bound what one call of one function may use.
type Limits struct {
	// Time is how long one function may take over one document (or one reduction, one validation), in processor
	// time where the system tells it (Linux), without pauses in favour of other calls. Default 5 s.
	Time time.Duration
	// Memory bounds, in bytes, what the functions of one runtime hold. Default 64 MiB. It is reserved as address
	// space; only what is used costs memory.
	Memory int64
	// Runtimes is how many runtimes may exist, busy or idle. A call waits for one if all are busy. Default 16.
	Runtimes int
	// Wait is how long a call of class Query may wait for a processor in total; one of class Interactive waits for at
	// most 4 s. Default 30 s.
	Wait time.Duration
	// Idle is how long an unused runtime is kept. Default 1 minute.
	Idle time.Duration
}

// Defaults of Limits, and limits that are not settings.
const (
	DefaultTime     = 5 * time.Second
	DefaultMemory   = 64 << 20
	DefaultRuntimes = 16
	DefaultWait     = 30 * time.Second
	DefaultIdle     = time.Minute

	// minCompile is the minimum time for compiling one function, whatever Limits.Time is.
	minCompile = 2 * time.Second
	// minMemory is what a runtime with a few functions needs to start.
	minMemory = 4 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = DefaultTime
	}
	if l.Memory <= 0 {
		l.Memory = DefaultMemory
	}
	l.Memory = max(l.Memory, minMemory)
	if l.Runtimes <= 0 {
		l.Runtimes = DefaultRuntimes
	}
	if l.Wait <= 0 {
		l.Wait = DefaultWait
	}
	if l.Idle <= 0 {
		l.Idle = DefaultIdle
	}
	return l
}

// ErrClosed is the error of every call after the Sandbox is closed.
var ErrClosed = turns.ErrClosed

// CompileError reports that a function's source cannot be used.
type CompileError = engine.CompileError

// RuntimeError reports that a function threw, or returned or emitted something that cannot be written as JSON.
type RuntimeError = engine.RuntimeError

// LimitError reports that a function was stopped at a limit.
type LimitError = engine.LimitError

// StoppedInTime reports whether text is the error text of a function that was stopped at the time limit.
func StoppedInTime(text string) bool { return engine.StoppedInTime(text) }

// BusyError reports that a call waited too long for its turn. It says nothing about the function or its document.
type BusyError = turns.BusyError

// Rejection reports that validate_doc_update refuses a document: it threw an object with one of CouchDB's two names, or
// a list of "error", a name and a reason.
type Rejection = engine.Rejection

// Unrepeatable is the Name of the error of a map or reduce function that reads the clock or draws random numbers.
const Unrepeatable = engine.Unrepeatable

// Function is one source text. Its Name appears in errors.
type Function = engine.Function

// Class is the purpose of a call. Within one database, calls of a higher class go first.
type Class = turns.Class

// The classes of calls.
const (
	Background  = turns.Background  // index builds
	Query       = turns.Query       // somebody waits: filters, reductions, updating an index for a query
	Interactive = turns.Interactive // a write waits: validations, updating indexes within writes, design documents
)

// Charge returns a context whose function calls are charged to database. Databases share the processors fairly,
// whatever their functions do. Calls without a charge share among themselves, with class Query.
func Charge(ctx context.Context, database string, class Class) context.Context {
	return turns.Charge(ctx, database, class)
}

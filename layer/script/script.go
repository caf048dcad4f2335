// Package script runs the JavaScript of design documents: map, reduce, filter and validate_doc_update functions, with
// the language and the helpers of CouchDB 3.5's QuickJS engine.
//
// A function can compute, and nothing else: there is no input or output, and local time is UTC. Filters and validations
// have the clock and random numbers. Map and reduce functions have not, since an index must be the same whenever and on
// whichever node it is built: using them is an error ([Unrepeatable]), of the document or the reduction, that the
// function cannot catch. It is held to a time per call and to a memory size, both enforced even against code that the
// engine itself cannot interrupt; see [Limits].
//
// What is here:
//
//   - [Sandbox] owns the JavaScript runtimes, keeps idle ones for reuse, and closes them.
//   - [Sandbox.Maps], [Sandbox.Reduce], [Sandbox.Filter], [Sandbox.FilterByView] and [Sandbox.Validate] compile
//     functions and return a handle that any number of goroutines may call at once. Each call borrows a runtime for its
//     duration.
//
// Functions see frozen documents, as CouchDB's do: an assignment to a member of the document is without effect (a
// TypeError in strict code), so a function that changes its document disturbs neither the next function nor the next
// document. Each map function has global variables of its own.
//
// Map functions that only look at members of the document and emit them are evaluated over its text, without the
// engine, to the same rows (internal/direct; docs/design/direct-evaluation.md). What runs in the engine, and how it is
// bounded, is internal/engine's.
//
// Processors are shared fairly between databases ([Charge], internal/turns).
//
// Errors are of five kinds. [*CompileError]: the source is wrong; refuse the design document. [*RuntimeError]: the
// function threw, or gave what is no JSON; that document is skipped. [*LimitError]: it was stopped at a limit;
// likewise. [*BusyError]: it waited too long for a processor; try again. Any other error is the context's, or the
// machine's, and says nothing about the document.
package script

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/script/internal/engine"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Limits bound what one call of one function may use.
type Limits struct {
	// Time is how long one function may take over one document (or one reduction, one validation), pauses for others
	// not counted. Default 5 s.
	Time time.Duration
	// Memory is the size in bytes of everything that the functions of one runtime hold. Default 64 MiB. It is reserved
	// as address space; only what is used costs memory.
	Memory int64
	// Runtimes is how many runtimes may exist at once, busy or idle. A call waits for one when all are busy. Default
	// 16.
	Runtimes int
	// Wait is how long a call of class Query may wait for a processor in all; one of class Interactive waits for at
	// most 4 s. Default 30 s.
	Wait time.Duration
	// Idle is how long an unused runtime is kept. Default 1 minute.
	Idle time.Duration
}

// The defaults of Limits, and the bounds that are not settings.
const (
	DefaultTime     = 5 * time.Second
	DefaultMemory   = 64 << 20
	DefaultRuntimes = 16
	DefaultWait     = 30 * time.Second
	DefaultIdle     = time.Minute

	// minCompile is how long compiling one function may take at least, whatever Limits.Time.
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

// ErrClosed is what every call fails with once the Sandbox is closed.
var ErrClosed = turns.ErrClosed

// CompileError says that a function's source cannot be used.
type CompileError = engine.CompileError

// RuntimeError says that a function threw, or returned or emitted what cannot be written as JSON.
type RuntimeError = engine.RuntimeError

// LimitError says that a function was stopped at a limit.
type LimitError = engine.LimitError

// StoppedInTime reports whether the text of an error is that of a function which was stopped at the limit of time.
func StoppedInTime(text string) bool { return engine.StoppedInTime(text) }

// BusyError says that a call waited too long for its turn. Nothing is known of the function or its document.
type BusyError = turns.BusyError

// Rejection says that validate_doc_update refuses a document: it threw an object with one of CouchDB's two names.
type Rejection = engine.Rejection

// Unrepeatable is the Name of the error of a map or reduce function that reads the clock or draws random numbers.
const Unrepeatable = engine.Unrepeatable

// Function names one source text. Name appears in errors.
type Function = engine.Function

// Class says what a call of a function is for. Within one database the higher class goes first.
type Class = turns.Class

// The classes of calls.
const (
	Background  = turns.Background  // builds of indexes
	Query       = turns.Query       // somebody waits: filters, reductions, an index that a query brings up to date
	Interactive = turns.Interactive // a write waits: validations, indexes that writes keep up to date, design documents
)

// Charge returns a context whose calls of functions are the database's. Databases share the processors fairly, whatever
// their functions do. Calls without a charge share among themselves, as Query.
func Charge(ctx context.Context, database string, class Class) context.Context {
	return turns.Charge(ctx, database, class)
}

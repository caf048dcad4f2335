// Package script runs the JavaScript of design documents: map, reduce, filter and validate_doc_update functions, with the
// language and the helpers of CouchDB 3.5's QuickJS engine.
//
// A function can compute, and nothing else: there is no input or output, and local time is UTC. Filters and validations have the clock and random numbers. Map and
// reduce functions have not, since an index must be the same whenever and on whichever node it is built: using them is an error ([Unrepeatable]), of the document
// or the reduction, that the function cannot catch. It is held to a time per call and to a memory size, both
// enforced even against code that the engine itself cannot interrupt; see [Limits].
//
// What is here:
//
//   - [Sandbox] owns the JavaScript runtimes, keeps idle ones for reuse, and closes them.
//   - [Sandbox.Maps], [Sandbox.Reduce], [Sandbox.Filter], [Sandbox.FilterByView] and [Sandbox.Validate] compile functions and
//     return a handle that any number of goroutines may call at once. Each call borrows a runtime for its duration.
//
// Functions see frozen documents, as CouchDB's do: an assignment to a member of the document is without effect (a
// TypeError in strict code), so a function that changes its document disturbs neither the next function nor the next document.
// Each map function has global variables of its own.
//
// Map functions that only look at members of the document and emit them are evaluated over its text, without the engine,
// to the same rows (direct.go; docs/design/direct-evaluation.md).
//
// Processors are shared fairly between databases ([Charge], turns.go).
//
// Errors are of five kinds. [*CompileError]: the source is wrong; refuse the design document. [*RuntimeError]: the
// function threw, or gave what is no JSON; that document is skipped. [*LimitError]: it was stopped at a limit; likewise.
// [*BusyError]: it waited too long for a processor; try again. Any other error is the context's, or the machine's, and says nothing about the document.
package script

import (
	"errors"
	"fmt"
	"time"
)

// Limits bound what one call of one function may use.
type Limits struct {
	// Time is how long one function may take over one document (or one reduction, one validation), pauses for others not counted. Default 5 s.
	Time time.Duration
	// Memory is the size in bytes of everything that the functions of one runtime hold. Default 64 MiB. It is reserved as
	// address space; only what is used costs memory.
	Memory int64
	// Runtimes is how many runtimes may exist at once, busy or idle. A call waits for one when all are busy. Default 16.
	Runtimes int
	// Wait is how long a call of class Query may wait for a processor in all; one of class Interactive waits for at most 4 s. Default 30 s.
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
	// maxSource is the longest source text of one function or module.
	maxSource = 1 << 20
	// maxEval is the longest text that a function may give to eval or new Function.
	maxEval = 16 << 10
	// maxRows is how many rows one function may emit for one document.
	maxRows = 100_000
	// maxOutput is how many bytes of JSON these rows may have together. An index takes far less (clause V6).
	maxOutput = 16 << 20
	// maxLogged is how many messages of one call reach Options.Log.
	maxLogged = 100
	// maxFrame is how many arguments, variables and temporary values one function may have.
	maxFrame = 2048
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
var ErrClosed = errors.New("script: the sandbox is closed")

// CompileError says that a function's source cannot be used.
type CompileError struct {
	// Function is the name that the caller gave, such as "views.by_city.map".
	Function string
	// Message is the engine's, for the author of the function.
	Message string
	// Line is counted from 1 in that function's source; 0 if unknown.
	Line int
}

func (e *CompileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("compilation of %s failed at line %d: %s", e.Function, e.Line, e.Message)
	}
	return fmt.Sprintf("compilation of %s failed: %s", e.Function, e.Message)
}

// RuntimeError says that a function threw, or returned or emitted what cannot be written as JSON.
type RuntimeError struct {
	Function string
	// Name is the class of the error ("TypeError"), or "" where something else was thrown.
	Name string
	// Message is what was thrown, as text.
	Message string
	// Line is where in the source of the function, from 1; 0 if unknown.
	Line int
}

func (e *RuntimeError) Error() string {
	s := e.Message
	if e.Name != "" {
		s = e.Name + ": " + s
	}
	if e.Line > 0 {
		return fmt.Sprintf("%s (%s line %d)", s, e.Function, e.Line)
	}
	return fmt.Sprintf("%s (%s)", s, e.Function)
}

// LimitError says that a function was stopped at a limit.
type LimitError struct {
	Function string
	// Limit is "time", "memory", "stack" or "rows".
	Limit string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: stopped at the %s limit", e.Function, e.Limit)
}

// Function names one source text. Name appears in errors.
type Function struct {
	Name   string
	Source string
}

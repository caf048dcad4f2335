package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/script/internal/jstext"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Function is one source text. Its Name appears in errors.
type Function struct {
	Name   string
	Source string
}

// Program is what a runtime is loaded with. Immutable.
type Program struct {
	Functions []Function
	// Direct marks the functions that seldom need the engine; nil if there are none. A runtime compiles such a
	// function when it first calls it, since all compiled code is part of the memory that is restored after each
	// document.
	Direct []bool
	// Live gives functions the clock and random numbers.
	Live bool
	// Renders marks show, list, update and rewrite functions, which are called by way of Func.Respond.
	Renders bool
	// Root is the JSON of the object that require searches; nil for no require.
	Root []byte
	// lazy is set if the modules that functions name cannot be loaded before the first document.
	lazy atomic.Bool
}

// Key identifies a program by its content.
func (p *Program) Key() [32]byte {
	h := sha256.New()
	field := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, f := range p.Functions {
		field(f.Name)
		field(f.Source)
	}
	field(string(p.Root))
	if p.Root == nil {
		field("")
	}
	if p.Live {
		field("live")
	}
	if p.Renders {
		field("renders")
	}
	return [32]byte(h.Sum(nil))
}

func (p *Program) isDirect(function int) bool { return p.Direct != nil && p.Direct[function] }

// Load compiles the program's functions, each in its own realm and within the time of one call. The error is a
// *CompileError if a source is wrong.
func (r *Runtime) Load(p *Program, limit time.Duration) error {
	r.live, r.renders = p.Live, p.Renders
	if p.Root != nil {
		err := r.guard("", func() (err error) {
			r.root, err = r.document(p.Root, true)
			return err
		})
		if err != nil {
			return err
		}
	}
	r.functions = make([]Func, len(p.Functions))
	for i := range p.Functions {
		if p.isDirect(i) {
			continue
		}
		if err := r.add(p, i, limit); err != nil {
			return err
		}
	}
	r.m.take()
	return nil
}

// add compiles a function that the runtime does not have yet.
func (r *Runtime) add(p *Program, function int, limit time.Duration) error {
	f := p.Functions[function]
	var added Func
	err := r.guard(f.Name, func() (err error) {
		r.call.arm(limit)
		added, err = r.compile(f)
		if !r.call.disarm() && err == nil {
			err = r.call.stopped(f.Name)
		}
		return err
	})
	if r.call.used != "" && (err == nil || !r.call.dead) {
		err = &CompileError{Function: f.Name, Message: r.call.used}
	}
	if err != nil && r.call.isClosing() {
		return turns.ErrClosed
	}
	var stopped *LimitError
	if errors.As(err, &stopped) {
		err = &CompileError{Function: f.Name, Message: "stopped at the " + stopped.Limit + " limit"}
	}
	if err != nil {
		return err
	}
	r.functions[function] = added
	return nil
}

// Check compiles the functions that Load skipped, and discards them.
func (r *Runtime) Check(p *Program, limit time.Duration) error {
	for i := range p.Functions {
		if r.Has(i) {
			continue
		}
		if err := r.add(p, i, limit); err != nil {
			r.call.dead = true
			return err
		}
		r.functions[i] = Func{}
		r.Reset()
	}
	return nil
}

// AddLate compiles a function that Load skipped, for this and later calls.
func (r *Runtime) AddLate(p *Program, function int, limit time.Duration) error {
	r.Reset()
	if r.call.dead {
		return nil
	}
	if err := r.add(p, function, limit); err != nil {
		return err
	}
	r.m.take()
	return nil
}

// Has reports whether a function is compiled.
func (r *Runtime) Has(function int) bool { return r.functions[function].ctx != 0 }

// compile creates a new realm with one function.
func (r *Runtime) compile(f Function) (Func, error) {
	if len(f.Source) > maxSource {
		return Func{}, &CompileError{Function: f.Name,
			Message: fmt.Sprintf("the source is longer than %d bytes", maxSource)}
	}
	ctx, err := r.m.context()
	if err != nil {
		return Func{}, err
	}
	if err := r.prepare(ctx); err != nil {
		return Func{}, err
	}
	out := Func{r: r, ctx: ctx, name: f.Name}
	if r.renders {
		if out.render, err = r.renderer(ctx); err != nil {
			return Func{}, err
		}
	}
	out.fn, err = r.functionValue(ctx, f)
	return out, err
}

// functionValue compiles a source: a function expression or, as CouchDB's engine accepts, a script whose value is a
// function.
func (r *Runtime) functionValue(ctx uintptr, f Function) (value, error) {
	fn := r.m.evaluate(ctx, "("+f.Source+"\n)", f.Name)
	if isException(fn) {
		first := r.failure(ctx, f.Name)
		if r.call.dead {
			return undefined, first
		}
		script, _ := jstext.WrapFunctions(f.Source)
		if fn = r.m.evaluate(ctx, script, f.Name); isException(fn) {
			second := r.failure(ctx, f.Name)
			if r.call.dead {
				return undefined, second
			}
			return undefined, compileError(f, later(first, second))
		}
	}
	if js.XJS_IsFunction(r.m.tls, ctx, fn) == 0 {
		r.m.free(fn)
		return undefined, &CompileError{Function: f.Name, Message: "the source is not a function"}
	}
	return fn, nil
}

// later returns the error of the attempt that got further: the other one failed at syntax that only it rejects.
func later(first, second error) error {
	var a, b *RuntimeError
	if errors.As(first, &a) && errors.As(second, &b) && b.Line > a.Line {
		return second
	}
	return first
}

func compileError(f Function, err error) error {
	var run *RuntimeError
	if !errors.As(err, &run) {
		return err
	}
	out := &CompileError{Function: f.Name, Message: run.Message, Line: run.Line}
	if lines := strings.Count(strings.TrimRight(f.Source, " \t\r\n"), "\n") + 1; out.Line > lines {
		// The error is at the bracket that functionValue adds, which the author has not written.
		out.Line, out.Message = lines, "unexpected end of the source"
	}
	if run.Name != "" {
		out.Message = run.Name + ": " + out.Message
	}
	return out
}

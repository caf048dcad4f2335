package script

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/script/internal/direct"
	"github.com/divandb/divan/layer/script/internal/engine"
	"github.com/divandb/divan/layer/script/internal/jstext"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Row is one call of emit: key and value as JSON text.
type Row struct{ Key, Value []byte }

// Mapped is the result of the map functions for one document.
type Mapped struct {
	// Rows has the rows that each function emitted, in order; none if Errs is set.
	Rows [][]Row
	// Errs has for each function nil, or the reason why its view skips the document: a *RuntimeError or *LimitError.
	Errs []error
}

// Maps is a set of map functions that see the same documents, normally those of one design document. Safe for
// concurrent use; calls of Map are independent.
type Maps struct {
	handle
	direct   *direct.Functions
	patience *patience
	most     time.Duration // time limit for one document and function, if not zero
}

// Maps compiles map functions. lib is the JSON of the design document's views.lib, for require("views/lib/..."), or
// nil. The error is a *CompileError for the first function that cannot be compiled.
func (s *Sandbox) Maps(ctx context.Context, lib []byte, functions []Function) (*Maps, error) {
	var root []byte
	if lib != nil {
		root = append(append([]byte(`{"views":{"lib":`), lib...), "}}"...)
	} else {
		root = []byte(`{"views":{}}`)
	}
	sources := make([]string, len(functions))
	for i, f := range functions {
		sources[i] = f.Source
	}
	direct := direct.Parse(sources)
	p := &engine.Program{Functions: functions, Root: root, Direct: make([]bool, len(functions))}
	for i := range functions {
		p.Direct[i] = direct.Has(i)
	}
	h, err := s.checked(ctx, p)
	if err != nil {
		return nil, err
	}
	return &Maps{handle: h, direct: direct, patience: newPatience(s.limits.Time, len(functions))}, nil
}

// Within returns the same functions with a time limit per document, if that is shorter than the sandbox's.
func (m *Maps) Within(limit time.Duration) *Maps {
	return &Maps{handle: m.handle, direct: m.direct, patience: m.patience, most: limit}
}

// limit returns how long a function may take over the next document.
func (m *Maps) limit(function int) time.Duration {
	limit := m.patience.limit(function)
	if m.most > 0 {
		limit = min(limit, m.most)
	}
	return limit
}

// Map runs every function over every document (JSON texts, with _id, _rev and everything else that functions may see)
// and calls each with the results, in the order of docs. The memory of a result is reused once each returns. Map ends
// with the error of each, if any, or when ctx ends. While each runs, the call may hold a runtime.
func (m *Maps) Map(ctx context.Context, docs [][]byte, each func(doc int, result *Mapped) error) error {
	b := batch{maps: m, docs: docs, each: each, plain: direct.New(m.direct)}
	b.result.Rows = make([][]Row, len(m.p.Functions))
	b.result.Errs = make([]error, len(m.p.Functions))
	if m.s.closing() {
		return ErrClosed
	}
	for b.begin(); b.doc < len(docs); {
		if err := b.runDirect(ctx); err != nil || b.doc == len(docs) {
			return err
		}
		// A function that is stopped at a limit kills its runtime; the next runtime continues after it.
		if err := m.with(ctx, func(r *engine.Runtime) error { return b.run(ctx, r) }); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// batch is one call of Map: its position and the current document's rows.
type batch struct {
	maps     *Maps
	docs     [][]byte
	each     func(int, *Mapped) error
	doc      int
	function int // the next function for docs[doc]
	result   Mapped
	rows     jstext.Rows
	plain    direct.Evaluation // direct evaluation of docs[doc]
}

// forget drops the current function's rows.
func (b *batch) forget() {
	rows := &b.rows.Rows
	for len(*rows) > 0 && (*rows)[len(*rows)-1].Function == b.function {
		*rows = (*rows)[:len(*rows)-1]
	}
}

// run processes documents with one runtime until the last one, or until the runtime is dead.
func (b *batch) run(ctx context.Context, r *engine.Runtime) error {
	for b.doc < len(b.docs) {
		if err := b.runDirect(ctx); err != nil || b.doc == len(b.docs) {
			return err
		}
		if err := b.document(r); err != nil {
			return err
		}
		if b.function == len(b.result.Rows) {
			if err := b.finish(); err != nil {
				return err
			}
		}
		r.Reset()
		if r.Call().Dead() || r.Call().Turn().Spent() {
			return nil
		}
	}
	return nil
}

// document runs the remaining functions for the current document while the runtime lives. The error is one that ends
// the batch.
func (b *batch) document(r *engine.Runtime) error {
	doc := engine.Document{Text: b.docs[b.doc]}
	for ; b.function < len(b.result.Rows) && !r.Call().Dead(); b.function++ {
		if b.plain.Run(b.function, &b.rows) {
			continue
		}
		if !r.Has(b.function) {
			doc = engine.Document{Text: b.docs[b.doc]}
			err := r.AddLate(b.maps.p, b.function, b.maps.s.compileTime())
			if err != nil || r.Call().Dead() {
				return err // if the runtime is dead, the next one retries the function
			}
		}
		began := turns.Now()
		err := r.Limited(b.function, b.maps.limit(b.function), func(f *engine.Func) error {
			return f.Map(&doc, b.function, &b.rows)
		})
		var thrown *RuntimeError
		var limit *LimitError
		switch {
		case err == nil:
			b.maps.patience.endedWell(b.function, began, r.Call().Turn())
		case errors.As(err, &thrown), errors.As(err, &limit):
			b.forget()
			if limit != nil && limit.Limit == "time" {
				b.maps.patience.stopped(b.function)
			}
		default:
			b.forget()
			return err
		}
		b.result.Errs[b.function] = err
	}
	return nil
}

// finish delivers the result of the current document and moves to the next.
func (b *batch) finish() error {
	for i := range b.result.Rows {
		b.result.Rows[i] = b.result.Rows[i][:0]
	}
	text := b.rows.Text
	for _, r := range b.rows.Rows {
		rows := &b.result.Rows[r.Function]
		*rows = append(*rows, Row{text[r.Key:r.Value:r.Value], text[r.Value:r.End:r.End]})
	}
	if err := b.each(b.doc, &b.result); err != nil {
		return err
	}
	clear(b.result.Errs)
	b.rows.Cut(jstext.Mark{})
	b.doc++
	b.begin()
	return nil
}

// begin starts the current document, if there is one.
func (b *batch) begin() {
	b.function = 0
	if b.doc < len(b.docs) {
		b.plain.Begin(b.docs[b.doc])
	}
}

// runDirect processes documents while direct evaluation suffices.
func (b *batch) runDirect(ctx context.Context) error {
	for b.doc < len(b.docs) {
		for b.function < len(b.result.Rows) && b.plain.Run(b.function, &b.rows) {
			b.function++
		}
		if b.function < len(b.result.Rows) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := b.finish(); err != nil {
			return err
		}
	}
	return nil
}

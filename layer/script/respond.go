package script

import (
	"context"
	"errors"
	"time"

	"github.com/divandb/divan/layer/script/internal/engine"
	"github.com/divandb/divan/layer/script/internal/turns"
)

// Responder is one show, list, update or rewrite function of a design document. Safe for concurrent use.
//
// The result of its methods is a list as JSON, as in CouchDB's query server protocol: ["resp", response] of a show,
// ["up", document, response] of an update, ["ok", rewrite] or ["no_dispatch_rule"] of a rewrite, and
// ["error", name, reason] if the function threw such an error on purpose. For any other exception the methods return a
// *RuntimeError.
type Responder struct{ handle }

// Responder compiles a show, list, update or rewrite function. ddoc is the JSON of its design document, which is `this`
// in the function and is searched by require.
func (s *Sandbox) Responder(ctx context.Context, ddoc []byte, f Function) (*Responder, error) {
	h, err := s.checked(ctx, &engine.Program{Functions: []Function{f}, Live: true, Renders: true, Root: ddoc})
	if err != nil {
		return nil, err
	}
	return &Responder{h}, nil
}

// Show calls the function with a document ("null" for none) and CouchDB's request object, both JSON.
func (f *Responder) Show(ctx context.Context, doc, req []byte) ([]byte, error) {
	return f.respond(ctx, "show", doc, req)
}

// Update calls the function with a document ("null" for none) and CouchDB's request object, both JSON.
func (f *Responder) Update(ctx context.Context, doc, req []byte) ([]byte, error) {
	return f.respond(ctx, "update", doc, req)
}

// Rewrite calls the function with CouchDB's request object, as JSON.
func (f *Responder) Rewrite(ctx context.Context, req []byte) ([]byte, error) {
	return f.respond(ctx, "rewrite", req)
}

func (f *Responder) respond(ctx context.Context, kind string, texts ...[]byte) (out []byte, err error) {
	err = f.once(ctx, func(f *engine.Func) error {
		out, err = f.Respond(kind, texts...)
		return err
	})
	return out, err
}

// Listing is what a list function writes to and reads from.
type Listing = engine.Listing

// List calls the function with the head of a view's rows and CouchDB's request object, both JSON. It writes to and
// reads from io until the function ends. The result is ["end"] or ["error", name, reason].
//
// Time is limited for each row. While io waits for rows or the client, the function holds its runtime but no processor.
// Only a quarter as many lists run at once as there are runtimes, and they leave all runtimes to other functions.
func (f *Responder) List(ctx context.Context, head, req []byte, io Listing) (out []byte, err error) {
	if err := f.s.enterList(ctx); err != nil {
		return nil, err
	}
	defer func() { <-f.s.lists }()
	err = f.apart(ctx, func(r *engine.Runtime) error {
		return r.Limited(0, f.s.limits.Time, func(f *engine.Func) error {
			out, err = f.List(head, req, io)
			return err
		})
	})
	return out, err
}

// enterList waits until one more list may run.
func (s *Sandbox) enterList(ctx context.Context) error {
	late := time.NewTimer(s.limits.Wait)
	defer late.Stop()
	select {
	case s.lists <- struct{}{}:
		return nil
	case <-late.C:
		return &BusyError{Waited: s.limits.Wait}
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.done:
		return ErrClosed
	}
}

// apart runs f once with a runtime of the program that does not count as one of Limits.Runtimes, so that nobody waits
// for it: f may wait for a client.
func (h handle) apart(ctx context.Context, f func(r *engine.Runtime) error) error {
	t := h.s.turns.Open(ctx, h.key)
	defer t.Close()
	t.Pin()
	if err := t.Begin(); err != nil {
		return err
	}
	defer t.End()
	r, err := h.s.acquire(ctx, t, h.key, h.p)
	if err != nil {
		return err
	}
	h.s.slots <- struct{}{} // another runtime may be started in its place
	defer h.s.rejoin(h.key, h.p, r)
	err = h.run(t, r, f)
	if errors.Is(err, turns.ErrStopped) { // by force, since it did not even look for an interrupt
		return &BusyError{}
	}
	return err
}

// rejoin makes a runtime that was apart one of the idle ones if there may be one more, and otherwise closes it.
func (s *Sandbox) rejoin(key [32]byte, p *engine.Program, r *engine.Runtime) {
	select {
	case <-s.slots:
		s.release(key, p, r)
	default:
		s.forget(r)
	}
}

package script

import (
	"errors"
	"regexp"
	"slices"
	"time"

	js "modernc.org/libquickjs"
)

// image is a runtime's memory with its program loaded. Each document, reduction and validation begins with the
// runtime as it is in the image, so that no call sees what an earlier one has left behind: a global variable, a
// closure's, a member of a module or of a built-in function. Otherwise a view's rows would depend on the order of
// the documents and on which of them were mapped by the same runtime.
//
// Everything of the engine's lies in the arena. So copying the arena's part that is in use is all that it takes,
// whatever the function did, and needs no knowledge of the engine. It is some 300 KB, and 50 KB for each function
// beside the first: 8 microseconds, of which freeing the call's values one by one, which it replaces, takes a
// part. Comparing the objects with the image and copying only where they differ was tried: it takes 2
// microseconds, but it has to know where every kind of object keeps what can change, and that a string which was
// freed and another one in its place are not the same.
type image struct {
	mem    []byte
	sizes  []uint32
	small  [smallUnits + 1][]uint32
	runs   []run
	top    int
	used   int
	input  buffer
	escape buffer
}

// since is what Go knows of memory that the image does not have.
type since struct{ names, texts []string }

// take makes the image of the present memory, or makes it anew.
func (r *runtime) take() {
	if r.image == nil {
		r.image = &image{}
	}
	a, m := r.arena, r.image
	m.mem = append(m.mem[:0], a.mem[:a.top*unit]...)
	m.sizes = append(m.sizes[:0], a.sizes[:a.top]...)
	for i := range a.small {
		m.small[i] = append(m.small[i][:0], a.small[i]...)
	}
	m.runs = append(m.runs[:0], a.runs...)
	m.top, m.used, m.input, m.escape = a.top, a.used, r.input, r.escape
	r.since = since{r.since.names[:0], r.since.texts[:0]}
}

// reset puts the memory back to the image. All values that were made since are no more.
func (r *runtime) reset() {
	if r.dead {
		return
	}
	a, m := r.arena, r.image
	copy(a.mem, m.mem)
	clear(a.sizes[:max(a.top, m.top)])
	copy(a.sizes, m.sizes)
	for i := range a.small {
		a.small[i] = append(a.small[i][:0], m.small[i]...)
	}
	a.runs = append(a.runs[:0], m.runs...)
	a.top, a.used, r.input, r.escape = m.top, m.used, m.input, m.escape
	r.emitted = r.emitted[:0]
	for _, text := range r.since.texts {
		delete(r.texts, text)
	}
	r.since.texts = r.since.texts[:0]
	r.adopt()
}

// adopt takes names of members that documents had into the image: the next documents have them too. What a
// function can see is the same with and without them.
func (r *runtime) adopt() {
	names := r.since.names
	if len(names) == 0 {
		return
	}
	r.since.names = names[:0]
	for _, name := range names {
		delete(r.atoms, name)
	}
	err := r.guard("", func() error {
		for _, name := range names {
			text := r.cstring(name)
			if text == 0 {
				return &LimitError{Limit: "memory"}
			}
			atom := js.XJS_NewAtomLen(r.tls, r.main.ctx, text, js.Tsize_t(len(name)))
			r.arena.free(text)
			if atom == 0 {
				return &LimitError{Limit: "memory"}
			}
			r.atoms[name] = atom
		}
		return nil
	})
	clear(names)
	if r.dead = r.dead || err != nil; !r.dead {
		r.take()
	}
}

// required finds the modules that a source names.
var required = regexp.MustCompile(`\brequire\s*\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)')\s*\)`)

// preload loads the modules that functions name into the image, so that they are not loaded again for every
// document. Which these are depends on the sources alone. A module that fails, or emits, does so for each document
// that requires it.
func (r *runtime) preload(p *program, limit time.Duration) error {
	if p.root == nil || p.lazy.Load() {
		return nil
	}
	for i, f := range p.functions {
		if p.isDirect(i) {
			continue // it requires none
		}
		for _, name := range modulesOf(f.Source) {
			err := r.limited(i, limit, func(r *runtime, fn *realm) error { return r.require(fn, name) })
			switch {
			case r.dead && (r.ended != nil || errors.Is(err, errStopped)), errors.Is(err, ErrClosed):
				return err
			case r.dead:
				p.lazy.Store(true)
				return errStopped // which begins with another runtime
			case err != nil || len(r.emitted) > 0:
				r.reset()
			default:
				r.take()
			}
		}
	}
	return nil
}

func modulesOf(source string) (names []string) {
	for _, match := range required.FindAllStringSubmatch(source, -1) {
		if name := match[1] + match[2]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// require loads a module in the realm of a function.
func (r *runtime) require(fn *realm, name string) error {
	require := r.property(fn.ctx, r.global(fn.ctx), "require")
	text := r.cstring(name)
	if text == 0 {
		return &LimitError{Limit: "memory"}
	}
	argument := js.XJS_NewStringLen(r.tls, fn.ctx, text, js.Tsize_t(len(name)))
	r.arena.free(text)
	exports := r.invoke(fn.ctx, require, undefined, argument)
	if isException(exports) {
		return r.failure(fn.ctx, fn.name)
	}
	r.free(exports)
	r.free(argument)
	r.free(require)
	return nil
}

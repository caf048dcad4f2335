package engine

import (
	"errors"
	"regexp"
	"slices"
	"time"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/script/internal/turns"
)

// required matches the modules that a source names.
var required = regexp.MustCompile(`\brequire\s*\(\s*(?:"([^"\\\n]+)"|'([^'\\\n]+)')\s*\)`)

// Preload loads the modules that functions name into the image, so that they are not loaded again for every document.
// The sources alone determine which modules. A module that fails, or emits, does so for each document that requires
// it.
func (r *Runtime) Preload(p *Program, limit time.Duration) error {
	if p.Root == nil || p.lazy.Load() {
		return nil
	}
	for i, f := range p.Functions {
		if p.isDirect(i) {
			continue // there is no require
		}
		for _, name := range modulesOf(f.Source) {
			err := r.Limited(i, limit, func(f *Func) error { return f.require(name) })
			switch {
			case r.call.dead &&
				(r.call.ended != nil || errors.Is(err, turns.ErrStopped)), errors.Is(err, turns.ErrClosed):
				return err
			case r.call.dead:
				p.lazy.Store(true)
				return turns.ErrStopped // starts again with another runtime
			case err != nil || len(r.emitted) > 0:
				r.Reset()
			default:
				r.m.take()
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

// require loads a module in the function's realm.
func (f *Func) require(name string) error {
	m := f.r.m
	require := m.property(f.ctx, m.global(f.ctx), "require")
	text := m.cstring(name)
	if text == 0 {
		return &LimitError{Limit: "memory"}
	}
	argument := js.XJS_NewStringLen(m.tls, f.ctx, text, js.Tsize_t(len(name)))
	m.arena.free(text)
	exports := m.invoke(f.ctx, require, undefined, argument)
	if isException(exports) {
		return f.failure()
	}
	m.free(exports)
	m.free(argument)
	m.free(require)
	return nil
}

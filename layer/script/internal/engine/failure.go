package engine

import (
	"strings"

	js "modernc.org/libquickjs"
)

// failure converts the pending exception to an error of the function.
func (f *Func) failure() error {
	r, m := f.r, f.r.m
	e := js.XJS_GetException(m.tls, f.ctx)
	defer js.XFreeValue(m.tls, f.ctx, e)
	if err := r.call.stopped(f.name); err != nil {
		r.call.dead = true
		return err
	}
	out := &RuntimeError{Function: f.name}
	if tag(e) == js.EJS_TAG_OBJECT && js.XJS_IsError(m.tls, f.ctx, e) != 0 {
		out.Name, out.Message = m.errorText(f.ctx, e, "name"), m.errorText(f.ctx, e, "message")
		out.Line = lineOf(m.errorText(f.ctx, e, "stack"), f.name)
		if out.Name == "InternalError" {
			// The engine ran out of stack or memory. Its state is no longer reliable.
			r.call.dead = true
			switch {
			case strings.Contains(out.Message, "stack overflow"):
				return &LimitError{Function: f.name, Limit: "stack"}
			case strings.Contains(out.Message, "string too long"): // longer than 2^30, before it was built
				return &LimitError{Function: f.name, Limit: "memory"}
			}
		}
		return out
	}
	out.Message, _ = f.describe(e)
	return out
}

// describe returns a thrown value as text: JSON unless it is a string.
func (f *Func) describe(v value) (text string, isJSON bool) {
	if t := tag(v); t == js.EJS_TAG_STRING || t == js.EJS_TAG_STRING_ROPE {
		return f.r.m.string(f.ctx, v), false
	}
	out, err := f.appendJSON(nil, v)
	if err != nil {
		return "an object that cannot be shown", false
	}
	return string(out), true
}

// lineOf returns the line of the innermost stack frame in the named function's source.
func lineOf(stack, function string) int {
	for line := range strings.Lines(stack) {
		_, rest, ok := strings.Cut(line, function+":")
		if !ok {
			continue
		}
		n := 0
		for _, c := range rest {
			if c < '0' || c > '9' {
				break
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	return 0
}

package script

import (
	"fmt"
	"strings"

	js "modernc.org/libquickjs"
)

// fault makes an error of a panic within the engine.
func (r *runtime) fault(function string, p any) error {
	if err := r.stopped(function); err != nil {
		return err
	}
	return &RuntimeError{Function: function, Name: "InternalError", Message: fmt.Sprint("the engine failed: ", p)}
}

// stopped is the error of a call that is over a limit; nil where it is not.
func (r *runtime) stopped(function string) error {
	switch {
	case r.ended != nil:
		return r.ended
	case r.limit != "":
		return &LimitError{Function: function, Limit: r.limit}
	case r.call.Load() == killed:
		if t := r.turn.Load(); t != nil && t.wasStopped() {
			return errStopped
		}
		return &LimitError{Function: function, Limit: "time"}
	case r.starved:
		return &LimitError{Function: function, Limit: "memory"}
	}
	return nil
}

// failure takes the pending exception and makes it an error of the function.
func (r *runtime) failure(ctx uintptr, function string) error {
	e := js.XJS_GetException(r.tls, ctx)
	defer js.XFreeValue(r.tls, ctx, e)
	if err := r.stopped(function); err != nil {
		r.dead = true
		return err
	}
	out := &RuntimeError{Function: function}
	if tag(e) == js.EJS_TAG_OBJECT && js.XJS_IsError(r.tls, ctx, e) != 0 {
		out.Name, out.Message = r.errorText(ctx, e, "name"), r.errorText(ctx, e, "message")
		out.Line = lineOf(r.errorText(ctx, e, "stack"), function)
		if out.Name == "InternalError" {
			// The engine ran out of stack or memory. What is left of its state is not to be relied on.
			r.dead = true
			switch {
			case strings.Contains(out.Message, "stack overflow"):
				return &LimitError{Function: function, Limit: "stack"}
			case strings.Contains(out.Message, "string too long"): // 2^30, not yet built in full
				return &LimitError{Function: function, Limit: "memory"}
			}
		}
		return out
	}
	out.Message = r.describe(ctx, e)
	return out
}

func (r *runtime) errorText(ctx uintptr, e value, name string) string {
	v := r.property(ctx, e, name)
	defer js.XFreeValue(r.tls, ctx, v)
	if t := tag(v); t != js.EJS_TAG_STRING && t != js.EJS_TAG_STRING_ROPE && t != js.EJS_TAG_INT {
		r.dropException(ctx, v)
		return ""
	}
	return r.string(ctx, v)
}

func (r *runtime) dropException(ctx uintptr, v value) {
	if isException(v) {
		js.XFreeValue(r.tls, ctx, js.XJS_GetException(r.tls, ctx))
	}
}

// describe is what was thrown, as text: JSON where it is an object.
func (r *runtime) describe(ctx uintptr, v value) string {
	if t := tag(v); t == js.EJS_TAG_STRING || t == js.EJS_TAG_STRING_ROPE {
		return r.string(ctx, v)
	}
	out, err := r.appendJSON(nil, ctx, v, "")
	if err != nil {
		return "an object that cannot be shown"
	}
	return string(out)
}

// string is the text of v by JavaScript's rules, cut off where it is very long, "" if it has none.
func (r *runtime) string(ctx uintptr, v value) string {
	const most = 2000
	n := r.args + unit/2
	p := js.XJS_ToCStringLen2(r.tls, ctx, n, v, 0)
	if p == 0 {
		r.dropException(ctx, exception)
		return ""
	}
	defer js.XJS_FreeCString(r.tls, ctx, p)
	size := int(*at[js.Tsize_t](n))
	s := strings.ToValidUTF8(string(r.arena.bytes(p, min(size, most))), "\uFFFD")
	if size > most {
		s += "..."
	}
	return s
}

// lineOf finds the line of the innermost frame of a stack that lies in the named function's source.
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

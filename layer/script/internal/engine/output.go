package engine

import (
	"strconv"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script/internal/jstext"
)

// appendJSON appends v as JSON.stringify writes an array element: null if v has no JSON text. The text is valid
// UTF-8; lone surrogates become U+FFFD. The caller still owns v.
func (f *Func) appendJSON(dst []byte, v value) ([]byte, error) {
	return f.appendValue(dst, v, 0)
}

// arrayDepth bounds the nesting of arrays that are written here. The engine writes deeper ones, among them those that
// contain themselves.
const arrayDepth = 3

func (f *Func) appendValue(dst []byte, v value, depth int) ([]byte, error) {
	m := f.r.m
	switch tag(v) {
	case js.EJS_TAG_INT:
		return strconv.AppendInt(dst, int64(intOf(v)), 10), nil
	case js.EJS_TAG_BOOL:
		return strconv.AppendBool(dst, v.Fu.Fuint641 != 0), nil
	case js.EJS_TAG_FLOAT64:
		return jstext.AppendFloat(dst, floatOf(v)), nil
	case js.EJS_TAG_STRING, js.EJS_TAG_STRING_ROPE:
		return f.appendText(dst, v, jsontext.AppendQuoted[[]byte])
	case js.EJS_TAG_OBJECT, js.EJS_TAG_BIG_INT, js.EJS_TAG_SHORT_BIG_INT:
		if tag(v) == js.EJS_TAG_OBJECT && depth < arrayDepth && js.XJS_IsArray(m.tls, f.ctx, v) > 0 {
			return f.appendArray(dst, v, depth)
		}
		s := js.XJS_JSONStringify(m.tls, f.ctx, v, undefined, undefined)
		switch tag(s) {
		case js.EJS_TAG_EXCEPTION:
			return dst, f.failure()
		case js.EJS_TAG_STRING, js.EJS_TAG_STRING_ROPE:
			defer m.free(s)
			return f.appendText(dst, s, jstext.AppendStringified)
		}
		m.free(s)
	}
	return append(dst, "null"...), nil
}

// appendArray writes an array as JSON.stringify does. Keys are mostly short arrays, for which the engine's setup
// would cost more than the writing.
func (f *Func) appendArray(dst []byte, v value, depth int) ([]byte, error) {
	r, m := f.r, f.r.m
	own := m.property(f.ctx, v, "toJSON")
	if tag(own) != js.EJS_TAG_UNDEFINED {
		m.dropException(f.ctx, own)
		m.free(own)
		return f.appendValue(dst, v, arrayDepth)
	}
	length := m.property(f.ctx, v, "length")
	if tag(length) != js.EJS_TAG_INT {
		m.free(length)
		return f.appendValue(dst, v, arrayDepth)
	}
	dst = append(dst, '[')
	for i := range intOf(length) {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := js.XJS_GetPropertyUint32(m.tls, f.ctx, v, uint32(i))
		if isException(item) {
			return dst, f.failure()
		}
		var err error
		dst, err = f.appendValue(dst, item, depth+1)
		if r.call.dead {
			return dst, err
		}
		m.free(item)
		if err != nil {
			return dst, err
		}
		if i%1024 == 1023 &&
			(r.call.overdue() || len(dst) > 2*maxOutput) { // an array may claim to be much longer than it is
			if r.call.dead = true; r.call.limit == "" {
				r.call.limit = "rows"
			}
			return dst, r.call.stopped(f.name)
		}
	}
	return append(dst, ']'), nil
}

// appendText passes the UTF-8 of a string to add.
func (f *Func) appendText(dst []byte, v value, add func(dst, s []byte) []byte) ([]byte, error) {
	m := f.r.m
	n := m.args + unit/2
	p := js.XJS_ToCStringLen2(m.tls, f.ctx, n, v, 0)
	if p == 0 {
		return dst, f.failure()
	}
	dst = add(dst, m.arena.bytes(p, int(*at[js.Tsize_t](n))))
	js.XJS_FreeCString(m.tls, f.ctx, p)
	return dst, nil
}

// appendEmitted writes an emitted value; an Error object as its name and message.
func (f *Func) appendEmitted(dst []byte, v value) ([]byte, error) {
	m := f.r.m
	if tag(v) != js.EJS_TAG_OBJECT || js.XJS_IsError(m.tls, f.ctx, v) == 0 {
		return f.appendJSON(dst, v)
	}
	dst = append(dst, `{"error":`...)
	dst = jsontext.AppendQuoted(dst, m.errorText(f.ctx, v, "name"))
	dst = append(dst, `,"message":`...)
	dst = jsontext.AppendQuoted(dst, m.errorText(f.ctx, v, "message"))
	return append(dst, '}'), nil
}

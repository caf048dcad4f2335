package script

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"

	js "modernc.org/libquickjs"
)

// appendJSON appends what JSON.stringify makes of v as an element of an array: null for what has no JSON text. The text is
// valid UTF-8; lone surrogates become U+FFFD. v stays the caller's.
func (r *runtime) appendJSON(dst []byte, ctx uintptr, v value, function string) ([]byte, error) {
	return r.appendValue(dst, ctx, v, function, 0)
}

// arrayDepth is how many arrays within arrays are written here. Deeper ones, among them those that contain themselves, are the
// engine's.
const arrayDepth = 3

func (r *runtime) appendValue(dst []byte, ctx uintptr, v value, function string, depth int) ([]byte, error) {
	switch tag(v) {
	case js.EJS_TAG_INT:
		return strconv.AppendInt(dst, int64(intOf(v)), 10), nil
	case js.EJS_TAG_BOOL:
		return strconv.AppendBool(dst, v.Fu.Fuint641 != 0), nil
	case js.EJS_TAG_FLOAT64:
		return appendFloat(dst, floatOf(v)), nil
	case js.EJS_TAG_STRING, js.EJS_TAG_STRING_ROPE:
		return r.appendText(dst, ctx, v, function, appendQuoted)
	case js.EJS_TAG_OBJECT, js.EJS_TAG_BIG_INT, js.EJS_TAG_SHORT_BIG_INT:
		if tag(v) == js.EJS_TAG_OBJECT && depth < arrayDepth && js.XJS_IsArray(r.tls, ctx, v) > 0 {
			return r.appendArray(dst, ctx, v, function, depth)
		}
		s := js.XJS_JSONStringify(r.tls, ctx, v, undefined, undefined)
		switch tag(s) {
		case js.EJS_TAG_EXCEPTION:
			return dst, r.failure(ctx, function)
		case js.EJS_TAG_STRING, js.EJS_TAG_STRING_ROPE:
			defer r.free(s)
			return r.appendText(dst, ctx, s, function, appendStringified)
		}
		r.free(s)
	}
	return append(dst, "null"...), nil
}

// appendArray writes an array as JSON.stringify does. Keys are mostly short arrays, for which setting up the engine's costs more than
// they do.
func (r *runtime) appendArray(dst []byte, ctx uintptr, v value, function string, depth int) ([]byte, error) {
	own := r.property(ctx, v, "toJSON")
	if tag(own) != js.EJS_TAG_UNDEFINED {
		r.dropException(ctx, own)
		r.free(own)
		return r.appendValue(dst, ctx, v, function, arrayDepth)
	}
	length := r.property(ctx, v, "length")
	if tag(length) != js.EJS_TAG_INT {
		r.free(length)
		return r.appendValue(dst, ctx, v, function, arrayDepth)
	}
	dst = append(dst, '[')
	for i := range intOf(length) {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := js.XJS_GetPropertyUint32(r.tls, ctx, v, uint32(i))
		if isException(item) {
			return dst, r.failure(ctx, function)
		}
		var err error
		dst, err = r.appendValue(dst, ctx, item, function, depth+1)
		if r.dead {
			return dst, err
		}
		r.free(item)
		if err != nil {
			return dst, err
		}
		if i%1024 == 1023 && (r.overdue() || len(dst) > 2*maxOutput) { // an array may say that it is much longer than it is
			if r.dead = true; r.limit == "" {
				r.limit = "rows"
			}
			return dst, r.stopped(function)
		}
	}
	return append(dst, ']'), nil
}

// appendText hands the UTF-8 of a string to add.
func (r *runtime) appendText(dst []byte, ctx uintptr, v value, function string, add func(dst, s []byte) []byte) ([]byte, error) {
	n := r.args + unit/2
	p := js.XJS_ToCStringLen2(r.tls, ctx, n, v, 0)
	if p == 0 {
		return dst, r.failure(ctx, function)
	}
	dst = add(dst, r.arena.bytes(p, int(*at[js.Tsize_t](n))))
	js.XJS_FreeCString(r.tls, ctx, p)
	return dst, nil
}

// appendFloat writes a number as JavaScript does.
func appendFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if f == 0 {
		return append(dst, '0')
	}
	abs := math.Abs(f)
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 is e-7 in JavaScript
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendQuoted writes s as a JSON string as JSON.stringify does.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(s[i:])
			if n > 1 {
				i += n
				continue
			}
			// Only a lone surrogate, three bytes, is no UTF-8 here.
			dst = append(append(dst, s[from:i]...), "\uFFFD"...)
			i += min(3, len(s)-i)
			from = i
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// appendStringified appends what JSON.stringify made. It writes lone surrogates, and only them, as \ud800 to \udfff: such
// a text is UTF-8, but no JSON that others take, so they become U+FFFD.
func appendStringified(dst, s []byte) []byte {
	from := len(dst)
	dst = append(dst, s...)
	out := dst[from:]
	for {
		i := bytes.Index(out, []byte(`\ud`))
		if i < 0 {
			return dst
		}
		back := i
		for back > 0 && out[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 && i+6 <= len(out) && bytes.IndexByte([]byte("89abcdef"), out[i+3]) >= 0 {
			copy(out[i:], `\ufffd`)
		}
		out = out[i+3:]
	}
}

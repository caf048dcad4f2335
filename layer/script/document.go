package script

import (
	"errors"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	js "modernc.org/libquickjs"
)

// errRepeated is internal: an object names a member twice.
var errRepeated = errors.New("repeated member")

// errDocument says that a text given as a document is no JSON. The store checks documents before it keeps them.
var errDocument = errors.New("script: the document is not JSON")

// maxDocumentDepth bounds the nesting of documents.
const maxDocumentDepth = 1000

// document turns JSON text into a value of the main realm, frozen or not. The engine's own JSON.parse followed by a deep
// Object.freeze takes three times as long.
func (r *runtime) document(json []byte, frozen bool) (value, error) {
	b := r.input.room(r.arena, len(json)+1)
	if b == nil {
		return undefined, &LimitError{Limit: "memory"}
	}
	copy(b, json)
	b[len(json)] = 0
	p := parser{r: r, text: b[:len(json)], frozen: frozen}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.pos != len(p.text) {
			r.free(v)
			err = errDocument
		}
	}
	if errors.Is(err, errRepeated) {
		v, err = r.repeatedDocument(frozen, len(json))
	}
	r.input.shrink(r.arena)
	r.escape.shrink(r.arena)
	if err != nil {
		return undefined, err
	}
	return v, nil
}

// repeatedDocument reads a document in which an object names a member twice, by the engine's JSON.parse: the last one counts.
func (r *runtime) repeatedDocument(frozen bool, size int) (value, error) {
	ctx := r.main.ctx
	v := js.XJS_ParseJSON(r.tls, ctx, r.input.addr, js.Tsize_t(size), r.text("document"))
	if isException(v) {
		r.dropException(ctx, v)
		return undefined, errDocument
	}
	if !frozen {
		return v, nil
	}
	done := r.invoke(ctx, r.helpers.freeze, undefined, v)
	if isException(done) {
		r.free(v)
		return undefined, r.failure(ctx, "freeze")
	}
	r.free(done)
	return v, nil
}

// parser builds values from text that lies in the arena.
type parser struct {
	r      *runtime
	text   []byte
	pos    int
	frozen bool
}

func (p *parser) space() byte {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return c
		}
	}
	return 0
}

func (p *parser) value(depth int) (value, error) {
	if depth > maxDocumentDepth {
		return undefined, errDocument
	}
	switch p.space() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		b, addr, err := p.string()
		if err != nil {
			return undefined, err
		}
		return p.check(js.XJS_NewStringLen(p.r.tls, p.r.main.ctx, addr, js.Tsize_t(len(b))))
	case 't':
		return p.word("true", boolValue(true))
	case 'f':
		return p.word("false", boolValue(false))
	case 'n':
		return p.word("null", null)
	}
	return p.number()
}

// check turns the engine's only failure while it builds values, no room, into an error.
func (p *parser) check(v value) (value, error) {
	if isException(v) {
		p.r.dropException(p.r.main.ctx, v)
		return undefined, &LimitError{Limit: "memory"}
	}
	return v, nil
}

func (p *parser) word(w string, v value) (value, error) {
	if len(p.text)-p.pos < len(w) || string(p.text[p.pos:p.pos+len(w)]) != w {
		return undefined, errDocument
	}
	p.pos += len(w)
	return v, nil
}

func (p *parser) number() (value, error) {
	from := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c-'0' >= 10 && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		p.pos++
	}
	text := p.text[from:p.pos]
	if n, ok := smallInt(text); ok {
		return intValue(n), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return undefined, errDocument
	}
	return floatValue(f), nil
}

// smallInt reads up to nine digits with an optional sign; -0 is a double in JavaScript.
func smallInt(text []byte) (int32, bool) {
	digits, minus := text, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, minus = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	var n int32
	for _, c := range digits {
		if c-'0' >= 10 {
			return 0, false
		}
		n = n*10 + int32(c-'0')
	}
	if minus {
		return -n, n != 0
	}
	return n, true
}

func (p *parser) array(depth int) (value, error) {
	r := p.r
	arr, err := p.check(js.XJS_NewArray(r.tls, r.main.ctx))
	if err != nil {
		return undefined, err
	}
	p.pos++
	if p.space() == ']' {
		p.pos++
		return arr, p.sealArray(arr)
	}
	for i := uint32(0); ; i++ {
		v, err := p.value(depth + 1)
		if err != nil {
			r.free(arr)
			return undefined, err
		}
		if js.XJS_DefinePropertyValueUint32(r.tls, r.main.ctx, arr, i, v, p.flags()) < 0 {
			r.free(arr)
			return p.check(exception)
		}
		switch p.space() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return arr, p.sealArray(arr)
		default:
			r.free(arr)
			return undefined, errDocument
		}
	}
}

// flags are the attributes of members: a frozen document's cannot be changed.
func (p *parser) flags() int32 {
	if p.frozen {
		return js.MJS_PROP_ENUMERABLE
	}
	return js.MJS_PROP_C_W_E
}

func (p *parser) sealArray(arr value) error {
	if !p.frozen {
		return nil
	}
	r := p.r
	if js.XJS_DefineProperty(r.tls, r.main.ctx, arr, js.EJS_ATOM_length, undefined, undefined, undefined,
		js.MJS_PROP_HAS_WRITABLE) < 0 || js.XJS_PreventExtensions(r.tls, r.main.ctx, arr) < 0 {
		r.free(arr)
		_, err := p.check(exception)
		return err
	}
	return nil
}

func (p *parser) object(depth int) (value, error) {
	r := p.r
	obj, err := p.check(js.XJS_NewObject(r.tls, r.main.ctx))
	if err != nil {
		return undefined, err
	}
	p.pos++
	if p.space() == '}' {
		p.pos++
		return p.sealObject(obj)
	}
	for {
		if err := p.member(obj, depth); err != nil {
			r.free(obj)
			return undefined, err
		}
		switch p.space() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return p.sealObject(obj)
		default:
			r.free(obj)
			return undefined, errDocument
		}
	}
}

func (p *parser) sealObject(obj value) (value, error) {
	if p.frozen && js.XJS_PreventExtensions(p.r.tls, p.r.main.ctx, obj) < 0 {
		p.r.free(obj)
		return p.check(exception)
	}
	return obj, nil
}

func (p *parser) member(obj value, depth int) error {
	r := p.r
	if p.space() != '"' {
		return errDocument
	}
	name, addr, err := p.string()
	if err != nil {
		return err
	}
	atom := r.atom(name, addr)
	if atom == 0 {
		_, err := p.check(exception)
		return err
	}
	if !r.keepsAtom(name) {
		defer js.XJS_FreeAtom(r.tls, r.main.ctx, atom)
	}
	if p.space() != ':' {
		return errDocument
	}
	p.pos++
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	switch js.XJS_DefinePropertyValue(r.tls, r.main.ctx, obj, atom, v, p.flags()) {
	case 0:
		return errRepeated
	case -1:
		_, err := p.check(exception)
		return err
	}
	return nil
}

// string takes a string and returns its UTF-8 and where that lies: in the text itself, or where it is escaped in a buffer
// that the next string overwrites.
func (p *parser) string() ([]byte, uintptr, error) {
	from := p.pos + 1
	i := from
	for i < len(p.text) && p.text[i] != '"' && p.text[i] != '\\' {
		i++
	}
	if i >= len(p.text) {
		return nil, 0, errDocument
	}
	if p.text[i] == '"' {
		p.pos = i + 1
		return p.text[from:i], p.r.input.addr + uintptr(from), nil
	}
	end := i
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) {
		return nil, 0, errDocument
	}
	room := p.r.escape.room(p.r.arena, end-from)
	if room == nil {
		return nil, 0, &LimitError{Limit: "memory"}
	}
	out, ok := unescape(room[:0], p.text[from:end])
	if !ok {
		return nil, 0, errDocument
	}
	p.pos = end + 1
	return out, p.r.escape.addr, nil
}

// unescape appends the text of a JSON string to dst, which has room for it. A lone surrogate is kept, in three bytes: JavaScript has
// such strings, and the engine takes them so.
func unescape(dst, s []byte) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' {
			dst = append(dst, c)
			continue
		}
		if i++; i >= len(s) {
			return dst, false
		}
		switch c := s[i]; c {
		case '"', '\\', '/':
			dst = append(dst, c)
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, ok := hex(s, i+1)
			if !ok {
				return dst, false
			}
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
				if low, ok := hex(s, i+3); ok {
					if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
						r = pair
						i += 6
					}
				}
			}
			dst = appendWTF8(dst, r)
		default:
			return dst, false
		}
	}
	return dst, true
}

func appendWTF8(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
	}
	return utf8.AppendRune(dst, r)
}

func hex(s []byte, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[i:i+4]), 16, 16)
	return rune(n), err == nil
}

package script

import (
	"errors"
	"strconv"

	js "modernc.org/libquickjs"
)

// parser builds values from text that lies in the arena.
type parser struct {
	scan
	r      *runtime
	frozen bool
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
	if !p.scan.word(w) {
		return undefined, errDocument
	}
	return v, nil
}

func (p *parser) number() (value, error) {
	text, _ := p.scan.number()
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

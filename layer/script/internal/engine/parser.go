package engine

import (
	"errors"
	"strconv"

	js "modernc.org/libquickjs"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/script/internal/jstext"
)

// parser creates values from JSON text in the arena.
type parser struct {
	jsontext.Scanner
	m      *machine
	frozen bool
}

func (p *parser) value(depth int) (value, error) {
	if depth > maxDocumentDepth {
		return undefined, errDocument
	}
	switch p.Space() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		b, addr, err := p.string()
		if err != nil {
			return undefined, err
		}
		return p.check(js.XJS_NewStringLen(p.m.tls, p.m.main, addr, js.Tsize_t(len(b))))
	case 't':
		return p.word("true", boolValue(true))
	case 'f':
		return p.word("false", boolValue(false))
	case 'n':
		return p.word("null", null)
	}
	return p.number()
}

// check reports running out of memory, the engine's only failure while it creates values.
func (p *parser) check(v value) (value, error) {
	if isException(v) {
		p.m.dropException(p.m.main, v)
		return undefined, &LimitError{Limit: "memory"}
	}
	return v, nil
}

func (p *parser) word(w string, v value) (value, error) {
	if !p.Word(w) {
		return undefined, errDocument
	}
	return v, nil
}

func (p *parser) number() (value, error) {
	text, _, ok := p.Number()
	if !ok {
		return undefined, errDocument
	}
	if n, ok := jstext.SmallInt(text); ok {
		return intValue(n), nil
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return undefined, errDocument
	}
	return floatValue(f), nil
}

func (p *parser) array(depth int) (value, error) {
	m := p.m
	arr, err := p.check(js.XJS_NewArray(m.tls, m.main))
	if err != nil {
		return undefined, err
	}
	p.Pos++
	if p.Space() == ']' {
		p.Pos++
		return arr, p.sealArray(arr)
	}
	for i := uint32(0); ; i++ {
		v, err := p.value(depth + 1)
		if err != nil {
			m.free(arr)
			return undefined, err
		}
		if js.XJS_DefinePropertyValueUint32(m.tls, m.main, arr, i, v, p.flags()) < 0 {
			m.free(arr)
			return p.check(exception)
		}
		switch p.Space() {
		case ',':
			p.Pos++
		case ']':
			p.Pos++
			return arr, p.sealArray(arr)
		default:
			m.free(arr)
			return undefined, errDocument
		}
	}
}

// flags returns the attributes of members: those of a frozen document cannot be changed.
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
	m := p.m
	if js.XJS_DefineProperty(m.tls, m.main, arr, js.EJS_ATOM_length, undefined, undefined, undefined,
		js.MJS_PROP_HAS_WRITABLE) < 0 || js.XJS_PreventExtensions(m.tls, m.main, arr) < 0 {
		m.free(arr)
		_, err := p.check(exception)
		return err
	}
	return nil
}

func (p *parser) object(depth int) (value, error) {
	m := p.m
	obj, err := p.check(js.XJS_NewObject(m.tls, m.main))
	if err != nil {
		return undefined, err
	}
	p.Pos++
	if p.Space() == '}' {
		p.Pos++
		return p.sealObject(obj)
	}
	for {
		if err := p.member(obj, depth); err != nil {
			m.free(obj)
			return undefined, err
		}
		switch p.Space() {
		case ',':
			p.Pos++
		case '}':
			p.Pos++
			return p.sealObject(obj)
		default:
			m.free(obj)
			return undefined, errDocument
		}
	}
}

func (p *parser) sealObject(obj value) (value, error) {
	if p.frozen && js.XJS_PreventExtensions(p.m.tls, p.m.main, obj) < 0 {
		p.m.free(obj)
		return p.check(exception)
	}
	return obj, nil
}

func (p *parser) member(obj value, depth int) error {
	m := p.m
	if p.Space() != '"' {
		return errDocument
	}
	name, addr, err := p.string()
	if err != nil {
		return err
	}
	atom := m.atom(name, addr)
	if atom == 0 {
		_, err := p.check(exception)
		return err
	}
	if !m.keepsAtom(name) {
		defer js.XJS_FreeAtom(m.tls, m.main, atom)
	}
	if p.Space() != ':' {
		return errDocument
	}
	p.Pos++
	v, err := p.value(depth + 1)
	if err != nil {
		return err
	}
	switch js.XJS_DefinePropertyValue(m.tls, m.main, obj, atom, v, p.flags()) {
	case 0:
		return errRepeated
	case -1:
		_, err := p.check(exception)
		return err
	}
	return nil
}

// string parses a string and returns its UTF-8 and its address: in the text itself, or if it has escapes in a buffer
// that the next string overwrites.
func (p *parser) string() ([]byte, uintptr, error) {
	from := p.Pos + 1
	quoted, escaped, ok := p.Quoted()
	if !ok {
		return nil, 0, errDocument
	}
	text := quoted[1 : len(quoted)-1]
	if !escaped {
		return text, p.m.input.addr + uintptr(from), nil
	}
	room := p.m.escape.room(p.m.arena, len(text))
	if room == nil {
		return nil, 0, &LimitError{Limit: "memory"}
	}
	out, _ := jsontext.AppendUnescaped(room[:0], text, jsontext.KeepHalf)
	return out, p.m.escape.addr, nil
}

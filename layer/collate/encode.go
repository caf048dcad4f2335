package collate

import (
	"bytes"
	"sync"
)

// encoder writes one key. It is reused through a pool; only its buffers outlive a call.
type encoder struct {
	scanner
	order *order
	dst   []byte
	text  []byte // unescaped string
	names []byte // unescaped member names, for finding duplicates
	str   stringKeys
}

var encoders = sync.Pool{New: func() any { return newEncoder() }}

func newEncoder() *encoder { return &encoder{str: newStringKeys()} }

func (e *encoder) value(depth int) error {
	if depth > MaxDepth {
		return ErrDepth
	}
	if err := e.stepped(); err != nil {
		return err
	}
	switch c := e.Space(); c {
	case 'n':
		e.dst = append(e.dst, e.order.null)
		return e.literal("null")
	case 'f':
		e.dst = append(e.dst, e.order.no)
		return e.literal("false")
	case 't':
		e.dst = append(e.dst, e.order.yes)
		return e.literal("true")
	case '"':
		return e.string()
	case '[':
		return e.array(depth)
	case '{':
		return e.object(depth)
	default:
		text, integer, err := e.number()
		if err != nil {
			return err
		}
		e.dst, err = appendNumber(e.dst, text, integer, e.order.negative, e.order.positive)
		return err
	}
}

func (e *encoder) string() error {
	text, buf, err := e.scanner.text(e.text)
	e.text = buf
	if err != nil {
		return err
	}
	e.dst = append(e.dst, e.order.text)
	if e.order.raw {
		e.dst = appendBytes(e.dst, text)
	} else {
		e.dst = e.str.appendKey(e.dst, text)
	}
	return nil
}

func (e *encoder) array(depth int) error {
	e.Pos++
	e.dst = append(e.dst, e.order.array)
	if e.Space() == ']' {
		e.Pos++
		e.dst = append(e.dst, tagEnd)
		return nil
	}
	for {
		if err := e.value(depth + 1); err != nil {
			return err
		}
		switch e.Space() {
		case ',':
			e.Pos++
		case ']':
			e.Pos++
			e.dst = append(e.dst, tagEnd)
			return nil
		default:
			return ErrSyntax
		}
	}
}

// object writes the members in order of appearance. Of members with the same name only the last one counts, at its
// position, as in CouchDB's JSON decoder.
func (e *encoder) object(depth int) error {
	repeated, err := e.repeated(depth)
	if err != nil {
		return err
	}
	e.Pos++
	e.dst = append(e.dst, e.order.object)
	if e.Space() == '}' {
		e.Pos++
		e.dst = append(e.dst, tagEnd)
		return nil
	}
	for {
		e.Space()
		start, at := e.Pos, len(e.dst)
		if err := e.string(); err != nil {
			return err
		}
		if e.Space() != ':' {
			return ErrSyntax
		}
		e.Pos++
		if err := e.value(depth + 1); err != nil {
			return err
		}
		if repeated[start] {
			e.dst = e.dst[:at]
		}
		switch e.Space() {
		case ',':
			e.Pos++
		case '}':
			e.Pos++
			e.dst = append(e.dst, tagEnd)
			return nil
		default:
			return ErrSyntax
		}
	}
}

// repeated returns the offsets of those members of the object at the scanner that a later member of the same name
// replaces; nil if there are none. It does not move the scanner.
func (e *encoder) repeated(depth int) (map[int]bool, error) {
	s := e.scanner
	s.Pos++
	var few [8]member
	members := few[:0]
	e.names = e.names[:0]
	for s.Space() == '"' {
		start, from := s.Pos, len(e.names)
		text, buf, err := s.text(e.text)
		e.text = buf
		if err != nil {
			return nil, err
		}
		e.names = append(e.names, text...)
		members = append(members, member{start, from, len(e.names)})
		if s.Space() != ':' {
			return nil, ErrSyntax
		}
		s.Pos++
		if err := s.skip(depth + 1); err != nil {
			return nil, err
		}
		if s.Space() != ',' {
			break
		}
		s.Pos++
		s.Space()
	}
	// An object inside other objects is read once for each of them.
	return replaced(members, e.names), e.ahead(s.Pos - e.Pos)
}

// member is one member of an object: its offset in the text, and its name in a buffer of names.
type member struct{ start, from, to int }

func replaced(members []member, names []byte) map[int]bool {
	var out map[int]bool
	if len(members) <= 16 { // most objects in keys are small
		for i, a := range members {
			for _, b := range members[i+1:] {
				if bytes.Equal(names[a.from:a.to], names[b.from:b.to]) {
					if out == nil {
						out = make(map[int]bool)
					}
					out[a.start] = true
				}
			}
		}
		return out
	}
	last := make(map[string]int, len(members))
	for _, m := range members {
		name := string(names[m.from:m.to])
		if before, ok := last[name]; ok {
			if out == nil {
				out = make(map[int]bool)
			}
			out[before] = true
		}
		last[name] = m.start
	}
	return out
}

// appendBytes writes b so that it ends with a byte lower than any other in it: 0x00 and 0x01 are written as 0x01 0x01
// and 0x01 0x02, and 0x00 ends it.
func appendBytes(dst, b []byte) []byte {
	for _, c := range b {
		if c <= 1 {
			dst = append(dst, 1, c+1)
			continue
		}
		dst = append(dst, c)
	}
	return append(dst, 0)
}

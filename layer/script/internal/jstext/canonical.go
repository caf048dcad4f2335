package jstext

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/divandb/divan/layer/jsontext"
)

// MaxDepth bounds the nesting of values that are read here.
const MaxDepth = 50

// AppendCanonical appends the JSON value at the start of text as JSON.stringify writes it. ok is false if the value
// is not simple enough to be read here.
func AppendCanonical(dst, text []byte) (out []byte, ok bool) {
	c := canonical{jsontext.Scanner{Text: text, Depth: MaxDepth}}
	return c.append(dst, 0)
}

// canonical scans a text to write it again.
type canonical struct{ jsontext.Scanner }

// append appends a value in a container at nesting depth.
func (s *canonical) append(dst []byte, depth int) ([]byte, bool) {
	switch c := s.Space(); c {
	case '"':
		return s.appendString(dst)
	case '[':
		return s.appendContainer(dst, '[', depth+1)
	case '{':
		return s.appendContainer(dst, '{', depth+1)
	case 't', 'f', 'n':
		from := s.Pos
		ok := s.Value(depth)
		return append(dst, s.Text[from:s.Pos]...), ok
	}
	text, _, ok := s.Number()
	if !ok {
		return dst, false
	}
	if n, ok := SmallInt(text); ok {
		return strconv.AppendInt(dst, int64(n), 10), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return AppendFloat(dst, f), err == nil
}

func (s *canonical) appendString(dst []byte) ([]byte, bool) {
	text, escaped, ok := s.Quoted()
	if !ok || !utf8.Valid(text) {
		return dst, false
	}
	if !escaped {
		return append(dst, text...), true
	}
	plain, ok := jsontext.AppendUnescaped(make([]byte, 0, len(text)), text[1:len(text)-1], jsontext.KeepHalf)
	return jsontext.AppendQuoted(dst, plain), ok
}

// maxMembers bounds the members of an object that is written: their names are compared with each other.
const maxMembers = 32

func (s *canonical) appendContainer(dst []byte, open byte, depth int) ([]byte, bool) {
	dst = append(dst, open)
	var names [][]byte
	first := true
	ok := s.Container(open, depth, func(name []byte, escaped bool) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if open == '{' {
			if escaped {
				return false
			}
			for _, other := range names {
				if bytes.Equal(other, name) {
					return false
				}
			}
			names = append(names, name)
			// In JavaScript, names that are array indexes come first, in numeric order.
			if len(names) > maxMembers || name[1]-'0' < 10 || !utf8.Valid(name) {
				return false
			}
			dst = append(append(dst, name...), ':')
		}
		var ok bool
		dst, ok = s.append(dst, depth)
		return ok
	})
	return append(dst, open+2), ok
}

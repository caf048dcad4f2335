// Package members finds members of documents of which several expressions of a statement read some, row after row. What
// finds one member of a text, and what members mean in SQL, is in package types.
package members

import (
	"math"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/query/types"
)

// Memo remembers where the members of the last objects are. Several expressions of a statement often read members
// of one document, row after row; then each document is scanned once. The zero value is ready to use. It is not safe
// for concurrent use.
type Memo struct {
	slots [2]object // two, for a document and an object in it
	last  int       // index of the one used last
}

type object struct {
	text    string
	many    bool // it has more than most members, and they are not remembered
	members []member
}

// member is where a member is in the text. It has no pointers, since members are written for every row.
type member struct {
	key, keyEnd, value, end uint32 // the key without its quotes
	escaped                 bool   // the key has escapes
	plain                   bool   // the value is a string without escapes
}

const (
	// shortest is the length from which an object is remembered.
	shortest = 32
	// most is the number of members that are searched one by one as fast as the text is scanned.
	most = 64
)

// Field is JSONField.
func (m *Memo) Field(s, name string) (value string, found bool) {
	o := m.of(s)
	if o == nil {
		return types.JSONField(s, name)
	}
	at := o.find(name)
	if at == nil {
		return "", false
	}
	return s[at.value:at.end], true
}

// Text is JSONField followed by JSONText, or by JSONBText of a jsonb.
func (m *Memo) Text(s, name string, jsonb bool) (text string, found bool) {
	var value string
	if o := m.of(s); o != nil {
		at := o.find(name)
		if at == nil {
			return "", false
		}
		if at.plain {
			return s[at.value+1 : at.end-1], true
		}
		value = s[at.value:at.end]
	} else if value, found = types.JSONField(s, name); !found {
		return "", false
	}
	if jsonb {
		return types.JSONBText(value)
	}
	return types.JSONText(value)
}

// of returns what is remembered of s, or nil if that is nothing.
func (m *Memo) of(s string) *object {
	o := &m.slots[m.last]
	if types.SameText(o.text, s) {
		return o.known()
	}
	if len(s) < shortest || len(s) > math.MaxUint32 || types.JSONKindOf(s) != types.JSONObject {
		return nil
	}
	m.last = 1 - m.last
	if o = &m.slots[m.last]; !types.SameText(o.text, s) {
		o.scan(s)
	}
	return o.known()
}

func (o *object) known() *object {
	if o.many {
		return nil
	}
	return o
}

// find returns the last member of a name, or nil.
func (o *object) find(name string) *member {
	for i := len(o.members) - 1; i >= 0; i-- {
		at := &o.members[i]
		if at.escaped {
			if types.JSONUnquote(o.text[at.key-1:at.keyEnd+1]) == name {
				return at
			}
		} else if int(at.keyEnd-at.key) == len(name) && o.text[at.key:at.keyEnd] == name {
			return at
		}
	}
	return nil
}

// scan remembers the members of s, an object.
func (o *object) scan(s string) {
	o.text, o.many, o.members = s, false, o.members[:0]
	i := jsontext.SkipSpace(s, jsontext.SkipSpace(s, 0)+1)
	for i < len(s) && s[i] == '"' {
		key := i + 1
		keyEnd, plain := plainString(s, key)
		escaped := !plain
		if escaped {
			keyEnd = jsontext.SkipString(s, i) - 1
		}
		i = keyEnd + 1
		if i >= len(s) || s[i] != ':' {
			if i = jsontext.SkipSpace(s, i); i >= len(s) || s[i] != ':' {
				return
			}
		}
		if i++; i < len(s) && s[i] <= ' ' {
			i = jsontext.SkipSpace(s, i)
		}
		value, end := i, i
		plain = false
		if i < len(s) && s[i] == '"' {
			end, plain = plainString(s, i+1)
			end++
		}
		if !plain {
			end, _ = jsontext.SkipValue(s, i, math.MaxInt)
		}
		if len(o.members) == most {
			o.many = true
			return
		}
		o.members = append(o.members, member{uint32(key), uint32(keyEnd), uint32(value), uint32(end), escaped, plain})
		if i = end; i >= len(s) || s[i] != ',' {
			if i = jsontext.SkipSpace(s, i); i >= len(s) || s[i] != ',' {
				return
			}
		}
		if i++; i < len(s) && s[i] <= ' ' {
			i = jsontext.SkipSpace(s, i)
		}
	}
}

// plainString returns the end of the text of a JSON string without escapes, which begins at i. ok is false if it has
// some, or does not end.
func plainString(s string, i int) (end int, ok bool) {
	for ; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' {
			return i, c == '"'
		}
	}
	return i, false
}

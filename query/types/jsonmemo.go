package types

import (
	"unsafe"

	"github.com/divandb/divan/layer/jsontext"
)

// JSONMemo remembers where the members of the last objects are. Several expressions of a statement often read members
// of one document, row after row; then each document is scanned once. The zero value is ready to use. It is not safe
// for concurrent use.
type JSONMemo struct {
	slots [2]memoObject // two, for a document and an object in it
	last  int           // index of the one used last
}

type memoObject struct {
	text    string
	many    bool // it has more than memoMembers members, and they are not remembered
	members []rawMember
}

const (
	// memoFrom is the length from which an object is remembered.
	memoFrom = 32
	// memoMembers is the number of members that are searched one by one as fast as the text is scanned.
	memoMembers = 64
)

// Field is JSONField.
func (m *JSONMemo) Field(s, name string) (value string, found bool) {
	if len(s) < memoFrom || JSONKindOf(s) != JSONObject {
		return JSONField(s, name)
	}
	o := &m.slots[m.last]
	if !o.is(s) {
		m.last = 1 - m.last
		if o = &m.slots[m.last]; !o.is(s) {
			o.scan(s)
		}
	}
	if o.many {
		return JSONField(s, name)
	}
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == name {
			return o.members[i].value, true
		}
	}
	return "", false
}

// is reports whether s is the same text in memory.
func (o *memoObject) is(s string) bool {
	return len(s) == len(o.text) && unsafe.StringData(s) == unsafe.StringData(o.text)
}

// scan remembers the members of s, an object.
func (o *memoObject) scan(s string) {
	o.text, o.many, o.members = s, false, o.members[:0]
	i := jsontext.SkipSpace(s, jsontext.SkipSpace(s, 0)+1)
	for i < len(s) && s[i] == '"' {
		from := i + 1
		end, plain := plainString(s, from)
		key := s[from:end]
		if !plain {
			end = jsontext.SkipString(s, i) - 1
			key = JSONUnquote(s[i : end+1])
		}
		colon := jsontext.SkipSpace(s, end+1)
		if colon >= len(s) || s[colon] != ':' {
			return
		}
		if i = colon + 1; i < len(s) && s[i] <= ' ' {
			i = jsontext.SkipSpace(s, i)
		}
		from, plain = i, false
		if i < len(s) && s[i] == '"' {
			end, plain = plainString(s, i+1)
			end++
		}
		if !plain {
			end = skipValue(s, i)
		}
		if len(o.members) == memoMembers {
			o.many = true
			return
		}
		o.members = append(o.members, rawMember{key, s[from:end]})
		if i = jsontext.SkipSpace(s, end); i >= len(s) || s[i] != ',' {
			return
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

package selector

import (
	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Fields is a selection of parts of a document by paths like those of selectors, given as `fields` to `_find` and
// `filter=_selector`. It is immutable and safe for concurrent use.
type Fields struct {
	root  choice
	names []string
}

// Names returns the paths as they were given.
func (f *Fields) Names() []string { return f.names }

// choice is the selected part of a value: all of it, or some members.
type choice struct {
	whole   bool
	members []chosen // in the order in which they were first named
}

type chosen struct {
	name    string // of a member, or the index of an array element
	escaped []byte // the name as JSON, followed by a colon
	choice
}

// ParseFields reads a JSON array of paths. It returns nil for an empty list, which selects the whole document. The
// error is an *Error.
func ParseFields(list gjson.Result) (*Fields, error) {
	if !list.IsArray() {
		return nil, &Error{"invalid_fields", "Fields must be an array of strings, not: " + list.Raw}
	}
	f := &Fields{}
	for _, name := range list.Array() {
		if name.Type != gjson.String {
			return nil, &Error{"invalid_field", "Invalid JSON for field spec: " + name.Raw}
		}
		path, err := parsePath(name.Str)
		if err != nil {
			return nil, err
		}
		f.root.add(path)
		f.names = append(f.names, name.Str)
	}
	if len(f.root.members) == 0 {
		return nil, nil
	}
	return f, nil
}

func (c *choice) add(path []string) {
	if len(path) == 0 {
		*c = choice{whole: true}
	}
	if c.whole {
		return
	}
	for i := range c.members {
		if c.members[i].name == path[0] {
			c.members[i].add(path[1:])
			return
		}
	}
	m := chosen{name: path[0], escaped: append(jsontext.AppendQuoted(nil, path[0]), ':')}
	m.add(path[1:])
	c.members = append(c.members, m)
}

// Whole reports whether a member of the document is selected completely.
func (f *Fields) Whole(member string) bool {
	for i := range f.root.members {
		if f.root.members[i].name == member {
			return f.root.members[i].whole
		}
	}
	return false
}

// Append appends the selected parts of a document, a valid JSON object, as an object. Elements of arrays become
// members, as in CouchDB.
func (f *Fields) Append(dst, doc []byte) []byte {
	dst, _ = f.root.append(dst, gjson.ParseBytes(doc))
	return dst
}

// append appends the selected part of a value. found reports whether the value has any of it.
func (c *choice) append(dst []byte, v gjson.Result) (_ []byte, found bool) {
	if c.whole {
		return append(dst, v.Raw...), true
	}
	dst = append(dst, '{')
	for i := range c.members {
		m := &c.members[i]
		value, at := resolve(v, []string{m.name})
		if at != present {
			continue
		}
		before := len(dst)
		if found {
			dst = append(dst, ',')
		}
		dst = append(dst, m.escaped...)
		var ok bool
		if dst, ok = m.append(dst, value); !ok {
			dst = dst[:before]
			continue
		}
		found = true
	}
	return append(dst, '}'), found
}

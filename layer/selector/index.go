package selector

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Index is the definition of a Mango index, the member "map" of a view in a design document of language "query". A
// document that has all fields and matches the filter has one row: the list of the fields' values, with null. Design
// documents have none. It is immutable and safe for concurrent use.
type Index struct {
	Columns []Column
	// Filter selects the documents with rows; nil means all. FilterText is its text.
	Filter     *Selector
	FilterText string
}

// Column is a field of an index.
type Column struct {
	Field string
	// Direction is "asc" or "desc". It does not matter for the rows: an index is read in either direction.
	Direction string
	path      []string
}

// Path returns the names that the field consists of.
func (c *Column) Path() []string { return c.path }

// ParseIndex reads a definition, valid JSON. The error is an *Error.
func ParseIndex(text []byte) (*Index, error) {
	v := gjson.ParseBytes(text)
	fields, ok := lookup(v, "fields")
	if !v.IsObject() || !ok || !fields.IsObject() {
		return nil, &Error{"invalid_index", "The definition of an index must have an object of fields."}
	}
	ix := &Index{}
	for _, m := range membersOf(fields) {
		path, err := parsePath(m.name)
		if err != nil {
			return nil, err
		}
		ix.Columns = append(ix.Columns, Column{m.name, m.value.String(), path})
	}
	// CouchDB's old text indexes have their filter in "selector".
	for _, name := range []string{"partial_filter_selector", "selector"} {
		filter, ok := lookup(v, name)
		if !ok || filter.IsObject() && len(membersOf(filter)) == 0 {
			continue
		}
		var err error
		if ix.Filter, err = Parse([]byte(filter.Raw)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		ix.FilterText = filter.Raw
		break
	}
	return ix, nil
}

// AppendKey appends the key of a document's row. It returns false if the document has no row.
func (ix *Index) AppendKey(dst, doc []byte) ([]byte, bool) {
	v := gjson.ParseBytes(doc)
	from := len(dst)
	dst = append(dst, '[')
	for i := range ix.Columns {
		value, found := resolve(v, ix.Columns[i].path)
		if found != present {
			return dst[:from], false
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendCompact(dst, []byte(value.Raw))
	}
	return append(dst, ']'), ix.Filter == nil || ix.Filter.root.match(v)
}

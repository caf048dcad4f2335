package mango

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/selector"
)

// AllDocs is the name of the list of all documents, the index that every database has.
const AllDocs = "_all_docs"

// Index is an index of a database.
type Index struct {
	Design      string // id of the design document; empty for AllDocs
	Name        string
	Definition  *selector.Index // nil for AllDocs
	Partitioned bool
}

// special reports whether the index is AllDocs.
func (ix *Index) special() bool { return ix.Definition == nil }

// columns returns the fields of the index.
func (ix *Index) columns() []string {
	if ix.special() {
		return []string{"_id"}
	}
	names := make([]string, len(ix.Definition.Columns))
	for i := range names {
		names[i] = ix.Definition.Columns[i].Field
	}
	return names
}

// partial reports whether some documents with all fields have no row.
func (ix *Index) partial() bool { return !ix.special() && ix.Definition.Filter != nil }

// covers reports whether the rows of the index have all of the fields.
func (ix *Index) covers(fields []string) bool {
	if ix.special() {
		return false
	}
	columns := ix.columns()
	return !slices.ContainsFunc(fields, func(f string) bool { return f != "_id" && !slices.Contains(columns, f) })
}

// Compare orders indexes as `_index` lists them.
func Compare(a, b *Index) int {
	return cmp.Or(strings.Compare(a.Design, b.Design), strings.Compare(a.Name, b.Name))
}

// Append appends the index as `_index` lists it.
func (ix *Index) Append(dst []byte) []byte {
	if ix.special() {
		return append(dst, `{"ddoc":null,"name":"_all_docs","type":"special","def":{"fields":[{"_id":"asc"}]}}`...)
	}
	dst = jsontext.AppendQuoted(append(dst, `{"ddoc":`...), ix.Design)
	dst = jsontext.AppendQuoted(append(dst, `,"name":`...), ix.Name)
	dst = strconv.AppendBool(append(dst, `,"type":"json","partitioned":`...), ix.Partitioned)
	dst = append(dst, `,"def":{"fields":[`...)
	for i, c := range ix.Definition.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendQuoted(append(dst, '{'), c.Field), ':')
		dst = append(jsontext.AppendQuoted(dst, c.Direction), '}')
	}
	dst = append(dst, ']')
	if text := ix.Definition.FilterText; text != "" {
		dst = append(append(dst, `,"partial_filter_selector":`...), text...)
	}
	return append(dst, '}', '}')
}

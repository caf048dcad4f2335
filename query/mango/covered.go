package mango

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Cover builds documents from the rows of an index that covers a query: the id and the index's fields. It is not safe
// for concurrent use.
type Cover struct{ root *part }

// part is an object of the document.
type part struct {
	name   string
	column int // the column with the value, or -1
	parts  []*part
}

// NewCover returns a Cover for rows of the index.
func NewCover(ix *Index) *Cover {
	c := &Cover{&part{column: -1}}
	for i := range ix.Definition.Columns {
		if path := ix.Definition.Columns[i].Path(); path[0] != "_id" {
			c.root.add(path, i)
		}
	}
	return c
}

// add adds a column. A column within another one is part of that one's value.
func (p *part) add(path []string, column int) {
	if p.column >= 0 {
		return
	}
	if len(path) == 0 {
		p.column, p.parts = column, nil
		return
	}
	at := slices.IndexFunc(p.parts, func(q *part) bool { return q.name == path[0] })
	if at < 0 {
		at = len(p.parts)
		p.parts = append(p.parts, &part{name: path[0], column: -1})
	}
	p.parts[at].add(path[1:], column)
}

// Append appends the document of a row.
func (c *Cover) Append(dst []byte, id string, key []byte) []byte {
	dst = jsontext.AppendQuoted(append(dst, `{"_id":`...), id)
	values := gjson.ParseBytes(key).Array()
	for _, p := range c.root.parts {
		dst = p.append(append(dst, ','), values)
	}
	return append(dst, '}')
}

func (p *part) append(dst []byte, values []gjson.Result) []byte {
	dst = append(jsontext.AppendQuoted(dst, p.name), ':')
	if p.column >= 0 {
		return append(dst, strings.TrimSpace(values[p.column].Raw)...)
	}
	dst = append(dst, '{')
	for i, q := range p.parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = q.append(dst, values)
	}
	return append(dst, '}')
}

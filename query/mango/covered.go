package mango

import (
	"math"
	"slices"

	"github.com/divandb/divan/layer/jsontext"
)

// Cover builds documents from the rows of an index that covers a query: the id and the index's fields. It is not safe
// for concurrent use.
type Cover struct {
	root   *part
	values [][]byte // of the columns in the last row
}

// part is an object of the document.
type part struct {
	name   string
	quoted []byte // the name as JSON, followed by a colon
	column int    // the column with the value, or -1
	parts  []*part
}

// NewCover returns a Cover for rows of the index.
func NewCover(ix *Index) *Cover {
	c := &Cover{root: &part{column: -1}}
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
		p.parts = append(p.parts, &part{name: path[0], quoted: append(jsontext.AppendQuoted(nil, path[0]), ':'),
			column: -1})
	}
	p.parts[at].add(path[1:], column)
}

// Append appends the document of a row.
func (c *Cover) Append(dst []byte, id string, key []byte) []byte {
	dst = jsontext.AppendQuoted(append(dst, `{"_id":`...), id)
	c.values = appendElements(c.values[:0], key)
	for _, p := range c.root.parts {
		dst = p.append(append(dst, ','), c.values)
	}
	return append(dst, '}')
}

// appendElements appends the texts of the elements of an array, valid JSON. They share its memory.
func appendElements(dst [][]byte, array []byte) [][]byte {
	for i := jsontext.SkipSpace(array, 0) + 1; ; i++ { // after the bracket or a comma
		i = jsontext.SkipSpace(array, i)
		end, _ := jsontext.SkipValue(array, i, math.MaxInt)
		if end == i { // there are none
			return dst
		}
		dst = append(dst, array[i:end])
		if i = jsontext.SkipSpace(array, end); i >= len(array) || array[i] != ',' {
			return dst
		}
	}
}

func (p *part) append(dst []byte, values [][]byte) []byte {
	dst = append(dst, p.quoted...)
	if p.column >= 0 {
		return append(dst, values[p.column]...)
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

package types

import (
	"strings"
	"unsafe"
)

// Own returns a copy of a row that shares no memory with what its values were read from. The text of a value may be a
// small part of a large document, which would otherwise stay in memory as long as the value does, and which the limits
// of a statement do not count. What a statement keeps for longer than a row is copied by it.
func Own(row []Datum) []Datum {
	own := make([]Datum, len(row))
	size := 0
	for i := range row {
		size += len(row[i].S)
	}
	var b strings.Builder // one piece of memory for all texts
	b.Grow(size)
	for i := range row {
		b.WriteString(row[i].S)
	}
	texts := b.String()
	for i, d := range row {
		d.S, texts = texts[:len(d.S)], texts[len(d.S):]
		own[i] = d.ownItems()
	}
	return own
}

// Own is the function Own for one value.
func (d Datum) Own() Datum {
	d.S = strings.Clone(d.S)
	return d.ownItems()
}

func (d Datum) ownItems() Datum {
	if d.K == KArray || d.K == KRecord {
		a := *d.Array()
		a.Items = Own(a.Items)
		d.p = unsafe.Pointer(&a)
	}
	return d
}

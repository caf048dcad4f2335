// Package table sorts, searches and pages lists of any length, and merges the pages of several nodes into one. What the
// rows are is described by package state, and where they come from is up to the caller.
package table

import (
	"cmp"
	"container/heap"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
)

const (
	// DefaultLimit and MaxLimit bound the rows of a page.
	DefaultLimit = 50
	MaxLimit     = 500
	maxSearch    = 256 // bytes
	maxCursor    = 4096
)

// Query selects a page.
type Query struct {
	// Sort is the name of a column; empty means the table's default. Desc reverses the order.
	Sort string `json:"sort"`
	Desc bool   `json:"desc"`
	// Search has words that all occur in a row, in any case.
	Search string `json:"search"`
	// Database, unless empty, leaves out the rows of other databases.
	Database string `json:"database,omitempty"`
	// After continues after a page: its Next.
	After string `json:"after"`
	// Limit is the number of rows; 0 means DefaultLimit.
	Limit int `json:"limit"`
}

// Page is a part of a list.
type Page[T any] struct {
	Rows []T `json:"rows"`
	// Total is how many rows there are that match the search, before and after the page too.
	Total int `json:"total"`
	// Next is for Query.After, or empty at the end.
	Next string `json:"next"`
	// Sort and Desc are the order.
	Sort string `json:"sort"`
	Desc bool   `json:"desc"`
	// Unread is how many rows of the list have values that were not read in time.
	Unread int `json:"unread,omitempty"`
}

// Key is a value to sort by: by number, then by text.
type Key struct {
	Number float64
	Text   string
}

// Text and Number return keys.
func Text(s string) Key { return Key{Text: s} }

// Number returns the key of a number. A value that is not known sorts as less than any other.
func Number(n float64) Key {
	if math.IsNaN(n) {
		n = math.Inf(-1)
	}
	return Key{Number: n}
}

func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Number, o.Number), strings.Compare(k.Text, o.Text))
}

// Table describes the rows of a list.
type Table[T any] struct {
	// Columns are what rows can be sorted by. Default and DefaultDesc are the order if none is asked for.
	Columns     map[string]func(*T) Key
	Default     string
	DefaultDesc bool
	// ID is unique in the list, on all nodes. Rows with equal keys are in the order of their ids.
	ID func(*T) string
	// Search returns the texts that are searched.
	Search func(*T) []string
	// Database returns the database that a row is about; nil if rows are not about databases.
	Database func(*T) string
}

// cursor is the position of a row.
type cursor struct {
	key Key
	id  string
}

// position is a cursor as JSON, which has no infinity.
type position struct {
	Number *float64 `json:"n"`
	Text   string   `json:"t"`
	ID     string   `json:"i"`
}

func (c cursor) encode() string {
	p := position{Text: c.key.Text, ID: c.id}
	if !math.IsInf(c.key.Number, 0) {
		p.Number = &c.key.Number
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a number and two strings
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func decodeCursor(s string) (cursor, error) {
	bad := QueryError("`after` is not the `next` of a page")
	if len(s) > maxCursor {
		return cursor{}, bad
	}
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return cursor{}, bad
	}
	var p position
	if json.Unmarshal(text, &p) != nil {
		return cursor{}, bad
	}
	c := cursor{Key{math.Inf(-1), p.Text}, p.ID}
	if p.Number != nil {
		c.key.Number = *p.Number
	}
	return c, nil
}

// QueryError says why a query is not valid, to who sent it.
type QueryError string

func (e QueryError) Error() string { return string(e) }

func queryErrorf(format string, args ...any) QueryError {
	return QueryError(fmt.Sprintf(format, args...))
}

// plan is a query that was checked.
type plan[T any] struct {
	Table[T]
	key   func(*T) Key
	sort  string
	desc  bool
	only  string
	words []string
	after *cursor
	limit int
}

// Check returns a QueryError if a query is not valid.
func (t Table[T]) Check(q Query) error {
	_, err := t.plan(q)
	return err
}

func (t Table[T]) plan(q Query) (*plan[T], error) {
	p := &plan[T]{Table: t, sort: q.Sort, desc: q.Desc, limit: q.Limit}
	if p.sort == "" {
		p.sort, p.desc = t.Default, t.DefaultDesc
	}
	if p.key = t.Columns[p.sort]; p.key == nil {
		return nil, QueryError("`sort` must be one of " +
			strings.Join(slices.Sorted(maps.Keys(t.Columns)), ", "))
	}
	if p.only = q.Database; p.only != "" && t.Database == nil {
		return nil, QueryError("`database` does not apply to this list")
	}
	if len(q.Search) > maxSearch {
		return nil, queryErrorf("`search` must not be longer than %d bytes", maxSearch)
	}
	p.words = strings.Fields(strings.ToLower(q.Search))
	if q.After != "" {
		c, err := decodeCursor(q.After)
		if err != nil {
			return nil, err
		}
		p.after = &c
	}
	if p.limit == 0 {
		p.limit = DefaultLimit
	}
	if p.limit < 0 || p.limit > MaxLimit {
		return nil, queryErrorf("`limit` must be a number from 1 to %d", MaxLimit)
	}
	return p, nil
}

func (p *plan[T]) at(row *T) cursor { return cursor{p.key(row), p.ID(row)} }

// compare orders cursors. Ids are always in ascending order.
func (p *plan[T]) compare(a, b cursor) int {
	c := a.key.compare(b.key)
	if p.desc {
		c = -c
	}
	return cmp.Or(c, strings.Compare(a.id, b.id))
}

func (p *plan[T]) matches(row *T) bool {
	if p.only != "" && p.Database(row) != p.only {
		return false
	}
	if len(p.words) == 0 {
		return true
	}
	texts := p.Search(row)
	for i, s := range texts {
		texts[i] = strings.ToLower(s)
	}
	for _, w := range p.words {
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, w) }) {
			return false
		}
	}
	return true
}

// found are the rows that are kept while a list is read: the first ones of the order, the last one on top.
type found[T any] struct {
	p    *plan[T]
	rows []T
	at   []cursor
}

func (f *found[T]) Len() int           { return len(f.rows) }
func (f *found[T]) Less(i, j int) bool { return f.p.compare(f.at[i], f.at[j]) > 0 }
func (f *found[T]) Swap(i, j int) {
	f.rows[i], f.rows[j] = f.rows[j], f.rows[i]
	f.at[i], f.at[j] = f.at[j], f.at[i]
}
func (f *found[T]) Push(any) {}
func (f *found[T]) Pop() any {
	n := len(f.rows) - 1
	f.rows, f.at = f.rows[:n], f.at[:n]
	return nil
}

// add keeps a row if it is among the first most.
func (f *found[T]) add(row T, most int) {
	c := f.p.at(&row)
	if len(f.rows) == most {
		if f.p.compare(c, f.at[0]) >= 0 {
			return
		}
		f.rows[0], f.at[0] = row, c
		heap.Fix(f, 0)
		return
	}
	f.rows, f.at = append(f.rows, row), append(f.at, c)
	heap.Push(f, nil)
}

// page returns the page of the rows kept, of which there may be one more than fit.
func (f *found[T]) page(total int) Page[T] {
	p := f.p
	slices.SortFunc(f.rows, func(a, b T) int { return p.compare(p.at(&a), p.at(&b)) })
	out := Page[T]{Rows: f.rows, Total: total, Sort: p.sort, Desc: p.desc}
	if len(f.rows) > p.limit {
		out.Rows = f.rows[:p.limit]
		out.Next = p.at(&out.Rows[p.limit-1]).encode()
	}
	if out.Rows == nil {
		out.Rows = []T{}
	}
	return out
}

// Select reads a list and returns the page of a query. It keeps no more rows than the page has.
func (t Table[T]) Select(rows iter.Seq[T], q Query) (Page[T], error) {
	p, err := t.plan(q)
	if err != nil {
		return Page[T]{}, err
	}
	f := &found[T]{p: p}
	total := 0
	for row := range rows {
		if !p.matches(&row) {
			continue
		}
		total++
		if p.after == nil || p.compare(p.at(&row), *p.after) > 0 {
			f.add(row, p.limit+1)
		}
	}
	return f.page(total), nil
}

// Merge returns the page of several lists from the page of each for the same query.
func (t Table[T]) Merge(pages []Page[T], q Query) (Page[T], error) {
	p, err := t.plan(q)
	if err != nil {
		return Page[T]{}, err
	}
	f := &found[T]{p: p}
	total, unread, more := 0, 0, false
	for _, page := range pages {
		total += page.Total
		unread += page.Unread
		more = more || page.Next != ""
		for _, row := range page.Rows {
			f.add(row, p.limit+1)
		}
	}
	out := f.page(total)
	out.Unread = unread
	if more && out.Next == "" && len(out.Rows) > 0 {
		out.Next = p.at(&out.Rows[len(out.Rows)-1]).encode()
	}
	return out, nil
}

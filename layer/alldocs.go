package layer

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// AllDocsOptions of AllDocs. Keys, where not nil, names documents and excludes the range.
type AllDocsOptions struct {
	Keys        []string
	Start, End  *string // ids, inclusive unless ExcludeEnd; with Descending Start is the higher one. Compared as bytes (CouchDB's _all_docs order is raw)
	ExcludeEnd  bool
	Descending  bool
	Limit, Skip int // Limit < 0 is none
	IncludeDocs bool
	Large       bool // with IncludeDocs: leave large bodies in the store: Doc.Large
	Conflicts   bool // with IncludeDocs: Doc.Conflicts
	Only        Subset
}

// AllDocsRow is one row. With Keys, Err is NotFound where there is no such document, and Deleted rows have their Rev.
type AllDocsRow struct {
	ID      string
	Rev     Rev
	Deleted bool
	Doc     *Document // IncludeDocs; nil for a deleted one
	Err     error
}

// AllDocsResult is an all-docs response under way.
type AllDocsResult struct {
	TotalRows int64
	Offset    int64 // rows before the first one, -1 where it is not known cheaply
	UpdateSeq Seq
	Rows      iter.Seq2[AllDocsRow, error] // once
}

// AllDocs streams rows at one snapshot where the engine holds one, otherwise across transactions. Rows are valid until the next one. The snapshot ends with
// Rows, or with ctx where Rows is not used.
func (d *Database) AllDocs(ctx context.Context, o AllDocsOptions) (*AllDocsResult, error) {
	s, err := d.openStream(ctx)
	if err != nil {
		return nil, err
	}
	s.leaveLarge = o.Large
	a := &allDocs{s: s, o: o}
	res := &AllDocsResult{Offset: -1}
	if err := s.try(func() error { return a.head(res) }); err != nil {
		s.close()
		return nil, err
	}
	res.Rows = func(yield func(AllDocsRow, error) bool) {
		defer s.close()
		a.yield = yield
		if err := a.run(); err != nil {
			yield(AllDocsRow{}, err)
		}
	}
	return res, nil
}

// allDocs is an all-docs read under way.
type allDocs struct {
	s     *stream
	o     AllDocsOptions
	yield func(AllDocsRow, error) bool
	queue docPipe[allDocsPending]
	skip  int
	left  int // < 0: no limit
	doc   Document
	own   rawKeys
}

// allDocsPending is a row and what it needs.
type allDocsPending struct {
	row   AllDocsRow
	needs docNeeds
}

// head reads what comes before the rows.
func (a *allDocs) head(res *AllDocsResult) (err error) {
	last := readLastSeq(a.s.r, a.s.keys, a.s.cfg)
	switch a.o.Only {
	case Everything:
		n, err := countersOf(a.s.r, a.s.keys, counterDocs)
		if err != nil {
			return err
		}
		res.TotalRows = n[0]
	case DesignOnly:
		res.TotalRows = 0
		rows := getRange(a.s.r, a.s.keys.sub(nil, keyspace.Designs), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			res.TotalRows++
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	if a.o.Keys == nil && a.o.Start == nil && a.o.Only != LocalOnly {
		res.Offset = min(int64(a.o.Skip), res.TotalRows)
	}
	res.UpdateSeq, err = last()
	return err
}

func (a *allDocs) run() error {
	a.skip, a.left = a.o.Skip, a.o.Limit
	if a.left == 0 {
		return nil
	}
	if a.o.Only == LocalOnly { // whose bodies are in the list
		if a.o.Keys != nil {
			return a.localKeys()
		}
		return a.locals()
	}
	a.queue = docPipe[allDocsPending]{s: a.s, emit: a.emit}
	if a.o.IncludeDocs {
		a.queue.needs = func(p *allDocsPending) *docNeeds { return &p.needs }
	}
	produce, few := a.live, a.left > 0 && a.left <= pipeFew
	if a.o.Keys != nil {
		produce, few = a.keys, len(a.o.Keys) <= pipeFew
	}
	_, err := a.queue.run(!few, produce)
	return err
}

// counted applies skip and limit: whether the row is wanted, and whether there are more after it.
func (a *allDocs) counted() (wanted, more bool) {
	if a.skip > 0 {
		a.skip--
		return false, true
	}
	if a.left > 0 {
		a.left--
	}
	return true, a.left != 0
}

// live walks the list of live documents.
func (a *allDocs) live() error {
	prefix := a.s.keys.sub(nil, keyspace.AllDocs)
	r := idRange(prefix, idBounds{a.o.Start, a.o.End, a.o.ExcludeEnd, a.o.Descending})
	if a.o.Only == DesignOnly {
		first, end := "_design/", "_design0"
		design := idRange(prefix, idBounds{start: &first, end: &end, excludeEnd: true})
		r.Begin = maxKey(r.Begin, design.Begin)
		r.End = maxKey(r.Begin, minKey(r.End, design.End))
	}
	return a.s.scan(r, kv.RangeOptions{Reverse: a.o.Descending}, func(kvp kv.KeyValue) (bool, error) {
		id, _, err := tuple.TakeString(kvp.Key[len(prefix):])
		if err != nil {
			return false, corrupt("list of documents", err)
		}
		if a.o.Only == WithoutDesigns && isDesign(id) {
			return true, nil
		}
		wanted, more := a.counted()
		if !wanted {
			return true, nil
		}
		rev, err := parseRevPair(kvp.Value)
		if err != nil {
			return false, corrupt("list of documents", err)
		}
		var body []byte
		if a.o.IncludeDocs {
			body = a.s.keys.bodyOf(&a.own, kvp.Key[len(prefix):], kvp.Value)
		}
		ok, err := a.push(AllDocsRow{ID: id, Rev: rev}, body)
		return ok && more, err
	})
}

func maxKey(a, b []byte) []byte {
	if string(a) > string(b) {
		return a
	}
	return b
}

func minKey(a, b []byte) []byte {
	if string(a) < string(b) {
		return a
	}
	return b
}

// push queues a row, with what it needs. body is the key of its body, where that is known.
func (a *allDocs) push(row AllDocsRow, body []byte) (more bool, err error) {
	p := allDocsPending{row: row}
	if a.o.IncludeDocs && row.Err == nil && !row.Deleted {
		p.needs = docNeeds{key: body, id: row.ID, rev: row.Rev, wantsBody: true, wantsTree: a.o.Conflicts}
	}
	return a.queue.push(&p)
}

// emit yields a row that has what it needs.
func (a *allDocs) emit(p *allDocsPending) (more bool, err error) {
	if p.needs.found {
		a.doc, p.row.Doc = *p.needs.body.document(p.row.ID, p.row.Rev), &a.doc
		if p.needs.tree != nil {
			p.row.Doc.Conflicts = p.needs.tree.conflicts(false)
		}
	}
	return a.yield(p.row, nil), nil
}

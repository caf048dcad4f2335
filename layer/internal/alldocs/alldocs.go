package alldocs

import (
	"context"
	"iter"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// AllDocsOptions are the options of AllDocs. If Keys is not nil, it selects documents, and the range is ignored.
type AllDocsOptions struct {
	Keys []string
	// Range of ids, inclusive unless ExcludeEnd is set. With Descending, Start is the higher one. Ids are compared as
	// bytes, as in CouchDB's _all_docs.
	Start, End   *string
	ExcludeEnd   bool
	Descending   bool
	Limit, Skip  int // no limit if Limit < 0
	IncludeDocs  bool
	BodyOnly     bool // with IncludeDocs: rows have no Rev, and documents only their ID and Body
	Large        bool // with IncludeDocs: large bodies stay in the store (Doc.Large)
	Conflicts    bool // with IncludeDocs: sets Doc.Conflicts
	RowConflicts bool // sets Conflicts and DeletedConflicts of rows
	WithOffset   bool // compute AllDocsResult.Offset
	Only         db.Subset
}

// AllDocsRow is one row. With Keys, Err is NotFound if there is no such document, and rows of deleted documents have
// their Rev.
type AllDocsRow struct {
	ID      string
	Rev     db.Rev
	Deleted bool
	Doc     *rev.Document // with IncludeDocs; nil if deleted
	Err     error
	// With RowConflicts, the live and the deleted leaves except the winner, best first.
	Conflicts, DeletedConflicts []db.Rev
}

// AllDocsResult is an all-docs response in progress.
type AllDocsResult struct {
	TotalRows int64
	// Offset is the number of rows before the first one, if requested by WithOffset. It is -1 for Keys, if it was not
	// possible to divide a large list into ranges with counters, and for DesignOnly with a start among very many
	// design documents.
	Offset    int64
	UpdateSeq db.Seq
	Rows      iter.Seq2[AllDocsRow, error] // can be used once
}

// AllDocs streams rows from one snapshot if the engine holds snapshots, otherwise from several transactions. A row is
// valid until the next one. The snapshot is released when Rows ends, or with ctx if Rows is not used.
func (d Database) AllDocs(ctx context.Context, o AllDocsOptions) (*AllDocsResult, error) {
	for divided := false; ; divided = true {
		s, err := rev.OpenStream(ctx, d.Database)
		if err != nil {
			return nil, err
		}
		s.LeaveLarge = o.Large
		a := &AllDocs{S: s, O: o}
		res := &AllDocsResult{Offset: -1}
		if err := s.Begin(func() error { return a.head(res) }); err != nil {
			s.Close()
			return nil, err
		}
		if a.crowded && !divided {
			s.Close()
			d.divide(ctx, *o.Start)
			continue
		}
		res.Rows = func(yield func(AllDocsRow, error) bool) {
			defer s.Close()
			a.Yield = yield
			if err := a.Run(); err != nil {
				yield(AllDocsRow{}, err)
			}
		}
		return res, nil
	}
}

// AllDocs is an all-docs read in progress.
type AllDocs struct {
	S     *rev.Stream
	O     AllDocsOptions
	Yield func(AllDocsRow, error) bool
	queue rev.DocPipe[allDocsPending]
	next  allDocsPending // the row that is pushed, here so that it need not be allocated
	skip  int
	left  int // no limit if negative
	// yielded is the number of rows so far, last the id of the last one.
	yielded int
	last    string
	doc     rev.Document
	own     db.RawKeys

	crowded bool // dividing the list would allow to compute the offset
}

// allDocsPending is a row with what has to be read for it.
type allDocsPending struct {
	row   AllDocsRow
	needs rev.DocNeeds
}

// head reads what precedes the rows.
func (a *AllDocs) head(res *AllDocsResult) (err error) {
	a.crowded = false
	last := db.ReadLastSeq(a.S.R, a.S.Keys, a.S.Cfg)
	switch a.O.Only {
	case db.Everything:
		n, err := db.CountersOf(a.S.R, a.S.Keys, db.CounterDocs)
		if err != nil {
			return err
		}
		res.TotalRows = n[0]
	case db.DesignOnly:
		res.TotalRows, err = a.count(db.PrefixRange(a.S.Keys.Sub(nil, keyspace.Designs)))
		if err != nil {
			return err
		}
	}
	if a.O.WithOffset && a.O.Keys == nil && a.O.Only != db.LocalOnly {
		if res.Offset, err = a.offset(res.TotalRows); err != nil {
			return err
		}
	}
	res.UpdateSeq, err = last()
	return err
}

// Run reads the list and yields its rows. If the connection to the store breaks, it continues after the last row.
func (a *AllDocs) Run() error {
	for a.skip, a.left = a.O.Skip, a.O.Limit; a.left != 0; {
		err := a.run()
		if err == nil || a.yielded > 0 && a.O.Only == db.LocalOnly {
			return err
		}
		if err := a.S.Resume(err); err != nil {
			return err
		}
		if a.left = a.O.Limit; a.left > 0 {
			a.left -= a.yielded
		}
		switch {
		case a.yielded == 0 || a.O.Keys != nil:
			a.skip = a.O.Skip + a.yielded
		default:
			a.skip = 0
		}
	}
	return nil
}

func (a *AllDocs) run() error {
	// Bodies of _local documents are in their list.
	if a.O.Only == db.LocalOnly {
		if a.O.Keys != nil {
			return a.localKeys()
		}
		return a.locals()
	}
	a.queue = rev.DocPipe[allDocsPending]{S: a.S, Emit: a.emit}
	if a.O.IncludeDocs || a.O.RowConflicts {
		a.queue.Needs = func(p *allDocsPending) *rev.DocNeeds { return &p.needs }
	}
	produce, few := a.live, a.left > 0 && a.left <= rev.PipeFew
	if a.O.Keys != nil {
		produce, few = a.keys, len(a.O.Keys) <= rev.PipeFew
	}
	_, err := a.queue.Run(!few, produce)
	return err
}

// counted applies skip and limit to a row. It reports whether the row is wanted and whether more rows are.
func (a *AllDocs) counted() (wanted, more bool) {
	if a.skip > 0 {
		a.skip--
		return false, true
	}
	if a.left > 0 {
		a.left--
	}
	return true, a.left != 0
}

// live reads the list of live documents.
func (a *AllDocs) live() error {
	prefix := a.S.Keys.Sub(nil, keyspace.AllDocs)
	r := a.span(prefix)
	return a.S.Scan(r, kv.RangeOptions{Reverse: a.O.Descending}, func(kvp kv.KeyValue) (bool, error) {
		id, _, err := tuple.TakeString(kvp.Key[len(prefix):])
		if err != nil {
			return false, db.Corrupt("list of documents", err)
		}
		if a.O.Only == db.WithoutDesigns && db.IsDesign(id) {
			return true, nil
		}
		wanted, more := a.counted()
		if !wanted {
			return true, nil
		}
		var (
			rev  db.Rev
			body []byte
		)
		if !a.O.IncludeDocs || !a.O.BodyOnly {
			if rev, err = db.ParseRevPair(kvp.Value); err != nil {
				return false, db.Corrupt("list of documents", err)
			}
		}
		if a.O.IncludeDocs {
			body = a.S.Keys.BodyOf(&a.own, kvp.Key[len(prefix):], kvp.Value)
		}
		ok, err := a.push(AllDocsRow{ID: id, Rev: rev}, body)
		return ok && more, err
	})
}

// span returns the requested range of the list of live documents.
func (a *AllDocs) span(prefix []byte) kv.KeyRange {
	o := db.IdBounds{Start: a.O.Start, End: a.O.End, ExcludeEnd: a.O.ExcludeEnd, Descending: a.O.Descending}
	if a.yielded > 0 { // it continues
		o.Start = &a.last
	}
	r := db.IdRange(prefix, o)
	switch key := tuple.AppendString(prefix[:len(prefix):len(prefix)], a.last); {
	case a.yielded == 0:
	case o.Descending:
		r.End = maxKey(r.Begin, key)
	default:
		r.Begin = minKey(r.End, append(key, 0xff))
	}
	if a.O.Only == db.DesignOnly {
		design := designs(prefix)
		r.Begin = maxKey(r.Begin, design.Begin)
		r.End = maxKey(r.Begin, minKey(r.End, design.End))
	}
	return r
}

// designs returns the range of design documents in the list of live documents.
func designs(prefix []byte) kv.KeyRange {
	first, end := "_design/", "_design0"
	return db.IdRange(prefix, db.IdBounds{Start: &first, End: &end, ExcludeEnd: true})
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

// push queues a row. body is the key of its body, if known.
func (a *AllDocs) push(row AllDocsRow, body []byte) (more bool, err error) {
	p := &a.next
	*p = allDocsPending{row: row}
	if (a.O.IncludeDocs || a.O.RowConflicts) && row.Err == nil && !row.Deleted {
		p.needs = rev.DocNeeds{Key: body, Id: row.ID, Rev: row.Rev, WantsBody: a.O.IncludeDocs,
			WantsTree: a.O.Conflicts || a.O.RowConflicts}
	}
	return a.queue.Push(p)
}

// emit yields a row whose reads are complete.
func (a *AllDocs) emit(p *allDocsPending) (more bool, err error) {
	if p.needs.Found {
		a.doc, p.row.Doc = *p.needs.Body.Document(p.row.ID, p.row.Rev), &a.doc
		if p.needs.Tree != nil {
			p.row.Doc.Conflicts = p.needs.Tree.Conflicts(false)
		}
	}
	if a.O.RowConflicts && p.needs.Tree != nil {
		p.row.Conflicts, p.row.DeletedConflicts = p.needs.Tree.Conflicts(false), p.needs.Tree.Conflicts(true)
	}
	a.yielded, a.last = a.yielded+1, p.row.ID
	return a.Yield(p.row, nil), nil
}

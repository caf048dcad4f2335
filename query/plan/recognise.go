package plan

import (
	"cmp"
	"slices"

	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/plan/facts"
	"github.com/divandb/divan/query/plan/ranges"
)

// A read of documents can take only those that have rows in a range of a view, if the conditions of the statement imply
// that a document has a row, and that its key lies in the range. The conditions are applied to the documents as well,
// so a view is never wrong as long as it leaves out no document.

// candidate is a view that may answer a read of documents.
type candidate struct {
	design, view string
	shape        *rowshape.Shape
	reduce       string
	set          ranges.Intervals // of keys
	score        int              // how much the conditions say about the key
}

// recognise returns a scan of the documents of a view that satisfy conditions; nil if no view has all of them, or all
// documents are read as easily.
func (p *planning) recognise(f *bind.UserScan, conds []exec.Expr) (*exec.Scan, error) {
	doc, ok := p.documents(f)
	if !ok || len(facts.Members(conds, doc)) == 0 {
		return nil, nil
	}
	db, ok := p.db.(exec.Indexer)
	if !ok {
		return nil, nil
	}
	list, err := p.candidates(facts.New(conds, doc, p.root))
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.score == 0 && c.shape.Cond == nil {
			continue
		}
		// How many rows there are is only asked where it matters.
		ok, state, err := p.usable(db, &c, exec.IndexCounts{Rows: c.score == 0})
		switch {
		case err != nil:
			return nil, err
		case !ok:
		case c.score == 0 && state.Rows > state.Docs/4:
			// Most documents have a row, and reading them one after the other is faster.
		default:
			return p.viaView(f, &c), nil
		}
	}
	return nil, nil
}

// candidates returns the views that have a row of every document that satisfies conditions, those that the conditions
// narrow down most first.
func (p *planning) candidates(known *facts.Known) (list []candidate, err error) {
	if c := p.supposed; c != nil {
		if !known.Implies(c.shape.Cond) {
			return nil, nil
		}
		one := *c
		one.set, one.score = known.Keys(c.shape)
		return []candidate{one}, nil
	}
	designs, err := p.db.Designs(p.st.Ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	for _, d := range designs {
		for _, v := range d.Views {
			if v.Shape == nil || v.RawCollation || d.Partitioned || !known.Implies(v.Shape.Cond) {
				continue
			}
			c := candidate{design: d.Name, view: v.Name, shape: v.Shape, reduce: v.Reduce}
			c.set, c.score = known.Keys(v.Shape)
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.shape.Key), len(b.shape.Key)))
	})
	return list, nil
}

// documents returns the column of the documents of a scan, if views may be used for it.
func (p *planning) documents(f *bind.UserScan) (doc int, ok bool) {
	if f.Rel.Kind != exec.ReadAllDocs || !f.Rel.NoDesigns {
		return 0, false
	}
	for i, c := range f.Rel.Columns {
		if c.Field == exec.FieldDoc {
			doc, ok = f.Base+i, true
		}
	}
	if tx, ok := p.db.(exec.Transaction); ok && tx.Wrote() {
		return 0, false // views do not show its writes
	}
	on, _ := p.st.Session.Setting(exec.IndexesSetting)
	return doc, ok && on != "off"
}

// viaView returns the scan of the documents of a view.
func (p *planning) viaView(f *bind.UserScan, c *candidate) *exec.Scan {
	s := p.newScan(f)
	s.Via = c.design + "." + c.view
	for i, col := range f.Rel.Columns {
		if f.Used[i] {
			s.Targets = append(s.Targets, exec.Target{Field: col.Field, Index: f.Base + i})
		}
	}
	of := &bind.UserScan{Found: naming.Found{Design: c.design, View: c.view}}
	s.Accesses = p.looseAccesses(of, c.set)
	for i := range s.Accesses {
		s.Accesses[i].View.WithDoc = true
		s.Accesses[i].View.Update = exec.UpdateTrue
	}
	// The rows of the view and the documents must be as of one moment.
	p.st.Reads.Count += len(s.Accesses) + 1
	p.st.Reads.Views = append(p.st.Reads.Views, exec.ViewUse{Design: c.design, Update: exec.UpdateTrue, Optional: true})
	return s
}

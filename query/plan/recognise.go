package plan

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/rowshape"
	"github.com/divandb/divan/query/bind"
	"github.com/divandb/divan/query/bind/naming"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// A read of documents can take only those that have rows in a range of a view, if the conditions of the statement imply
// that a document has a row, and that its key lies in the range. The conditions are applied to the documents as well,
// so a view is never wrong as long as it leaves out no document.

// candidate is a view that may answer a read of documents.
type candidate struct {
	design, view string
	shape        *rowshape.Shape
	reduce       string
	set          intervals // of keys
	score        int       // how much the conditions say about the key
}

// recognise returns a scan of the documents of a view that satisfy conditions; nil if no view has all of them, or all
// documents are read as easily.
func (p *planning) recognise(f *bind.UserScan, conds []exec.Expr) (*exec.Scan, error) {
	doc, ok := p.documents(f)
	if !ok || len(members(conds, doc)) == 0 {
		return nil, nil
	}
	db, ok := p.db.(exec.Indexer)
	if !ok {
		return nil, nil
	}
	list, err := p.candidates(newFacts(conds, doc, p.root))
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.score == 0 && c.shape.Cond == nil {
			continue
		}
		ok, rows, docs, err := p.usable(db, &c)
		switch {
		case err != nil:
			return nil, err
		case !ok:
		case c.score == 0 && rows > docs/4:
			// Most documents have a row, and reading them one after the other is faster.
		default:
			return p.viaView(f, &c), nil
		}
	}
	return nil, nil
}

// candidates returns the views that have a row of every document that satisfies conditions, those that the conditions
// narrow down most first.
func (p *planning) candidates(known *facts) (list []candidate, err error) {
	designs, err := p.db.Designs(p.st.Ctx)
	if err != nil {
		return nil, exec.StoreError(err)
	}
	for _, d := range designs {
		for _, v := range d.Views {
			if v.Shape == nil || v.RawCollation || d.Partitioned || !known.implies(v.Shape.Cond) {
				continue
			}
			c := candidate{design: d.Name, view: v.Name, shape: v.Shape, reduce: v.Reduce}
			c.set, c.score = known.keys(v.Shape)
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

// keys returns intervals that contain the keys of all documents that satisfy the conditions, and how narrow they are.
func (f *facts) keys(s *rowshape.Shape) (set intervals, score int) {
	var parts []intervals
	for _, v := range s.Key {
		allowed := intervals{pointOf(v.JSON)}
		if v.Path != nil {
			if allowed = f.of(v.Path).allowed; s.AsJavaScript && !allowed.unbounded() {
				allowed = inDoubles(allowed)
			}
			switch {
			case allowed.unbounded():
			case allowed.allPoints():
				score += 3
			default:
				score += 2
			}
		}
		if allowed.unbounded() {
			break
		}
		if parts = append(parts, allowed); !s.Array {
			return allowed, score
		}
	}
	if score == 0 {
		return everything(), 0 // constants do not narrow anything down
	}
	return compound(parts, false), score
}

// inDoubles returns intervals that contain the values of a set as JavaScript writes them: numbers rounded to doubles,
// null for those beyond all doubles, and the members of objects in another order.
func inDoubles(set intervals) intervals {
	var out []interval
	for _, iv := range set {
		if iv.isPoint() && leastEqual(iv.low.val.S) != "" {
			out = append(out, allLists)
			continue
		}
		if !iv.isPoint() {
			if (intervals{iv}).intersect(intervals{allLists}) != nil {
				out = append(out, allLists) // numbers within lists are rounded too
			}
			scalars := intervals{iv}.intersect(intervals{{limit{inf: true}, below(atArrays)}})
			if scalars == nil {
				continue
			}
			iv = scalars[0]
		}
		low, fits := rounded(iv.low)
		high, fits2 := rounded(iv.high)
		out = append(out, interval{low, high})
		if !fits || !fits2 || (intervals{iv}).intersect(hugeNumbers) != nil {
			out = append(out, pointOf("null"))
		}
	}
	return union(out)
}

// hugeNumbers are beyond the doubles.
var hugeNumbers = intervals{
	{afterBooleans, limit{val: types.NewJSONText(strconv.FormatFloat(-math.MaxFloat64, 'g', -1, 64))}},
	{limit{val: types.NewJSONText(strconv.FormatFloat(math.MaxFloat64, 'g', -1, 64))}, below(atStrings)},
}

// rounded returns a bound for values as JavaScript writes them. fits is false if it is beyond the doubles.
func rounded(l limit) (out limit, fits bool) {
	if l.inf || types.JSONKindOf(l.val.S) != types.JSONNumber && types.JSONKindOf(l.val.S) != types.JSONList {
		return l, true
	}
	text, fits := roundedText(l.val.S)
	return limit{val: types.NewJSONText(text)}, fits
}

func roundedText(s string) (text string, fits bool) {
	switch types.JSONKindOf(s) {
	case types.JSONNumber:
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return map[bool]string{true: "-", false: ""}[f < 0] + "1.7976931348623157e308", false
		}
		return strconv.FormatFloat(f, 'g', -1, 64), true
	case types.JSONList:
		var list []string
		for _, v := range elementsOf(s) {
			text, ok := roundedText(v)
			if !ok {
				text = "null"
			}
			list = append(list, text)
		}
		return "[" + strings.Join(list, ",") + "]", true
	}
	return s, true
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
	if len(c.set) > maxReads && !c.set.allPoints() {
		c.set = c.set.hull()
	}
	of := &bind.UserScan{Found: naming.Found{Design: c.design, View: c.view}}
	s.Accesses = p.viewAccesses(of, c.set, false)
	for i := range s.Accesses {
		s.Accesses[i].View.WithDoc = true
		s.Accesses[i].View.Update = exec.UpdateTrue
	}
	// The rows of the view and the documents must be as of one moment.
	p.st.Reads.Count += len(s.Accesses) + 1
	p.st.Reads.Views = append(p.st.Reads.Views, exec.ViewUse{Design: c.design, Update: exec.UpdateTrue, Optional: true})
	return s
}

// suggestion returns the definition of an index that would narrow down a read of documents by its conditions, or "".
func (p *planning) suggestion(f *bind.UserScan, conds []exec.Expr) string {
	doc, ok := p.documents(f)
	if !ok {
		return ""
	}
	known := newFacts(conds, doc, p.root)
	var points, ranges []string
	for _, path := range members(conds, doc) {
		k := known.of(path)
		field := make([]string, len(path))
		for i, name := range path {
			field[i] = strings.ReplaceAll(name, ".", `\.`)
			if name == "" || strings.Trim(name, "0123456789-") == "" || i == 0 && name[0] == '_' {
				k = nil
				break
			}
		}
		if k == nil || k.allowed.unbounded() {
			continue
		}
		quoted := string(jsontext.AppendQuoted(nil, strings.Join(field, ".")))
		if k.allowed.allPoints() {
			points = append(points, quoted)
		} else {
			ranges = append(ranges, quoted)
		}
	}
	fields := append(points, ranges[:min(1, len(ranges))]...)
	if len(fields) == 0 {
		return ""
	}
	return `POST /{db}/_index {"index": {"fields": [` + strings.Join(fields, ", ") + `]}}`
}

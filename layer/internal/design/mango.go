package design

import (
	"context"
	"time"

	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/selector"
)

// indexes are the Mango indexes of a design document, which map documents without a sandbox. An invalid definition is
// nil, and has no rows, as in CouchDB.
type indexes []*selector.Index

// parseIndexes parses the definitions of a design document, and returns the memory that they take beside their texts.
func parseIndexes(design *Design) (all indexes, extra int) {
	all = make(indexes, len(design.Views))
	for i, v := range design.Views {
		ix, err := selector.ParseIndex([]byte(v.Map))
		if err != nil {
			continue
		}
		if all[i] = ix; ix.Filter != nil {
			extra += ix.Filter.Extra()
		}
	}
	return all, extra
}

// Within returns the same indexes: the time that a document takes is bounded by its size.
func (all indexes) Within(time.Duration) Maps { return all }

func (all indexes) Map(ctx context.Context, docs [][]byte, each func(int, *script.Mapped) error) error {
	result := script.Mapped{Rows: make([][]script.Row, len(all)), Errs: make([]error, len(all))}
	var text []byte
	for i, doc := range docs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text = text[:0]
		for v, ix := range all {
			result.Rows[v] = result.Rows[v][:0]
			if ix == nil {
				continue
			}
			from := len(text)
			var ok bool
			if text, ok = ix.AppendKey(text, doc); ok {
				result.Rows[v] = append(result.Rows[v], script.Row{Key: text[from:len(text):len(text)], Value: null})
			}
		}
		if err := each(i, &result); err != nil {
			return err
		}
	}
	return nil
}

var null = []byte("null")

// MapsDesigns reports whether the index has rows of design documents.
func (d *Design) MapsDesigns() bool { return d.Options.IncludeDesign && d.Language != Mango }

// Indexes returns the definitions of the views of a Mango design document, in their order; nil for those that are
// invalid. The result must not be changed.
func (d *Design) Indexes() []*selector.Index {
	d.indexes.Do(func() {
		d.indexed = make([]*selector.Index, len(d.Views))
		for i := range d.Views {
			d.indexed[i], _ = selector.ParseIndex([]byte(d.Views[i].Map))
		}
	})
	return d.indexed
}

// IsMango reports whether the views are Mango indexes.
func (d *Design) IsMango() bool { return d.Language == Mango }

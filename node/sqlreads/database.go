package sqlreads

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/query/exec"
)

const (
	designPrefix = "_design/"
	localPrefix  = "_local/"
	afterDesigns = "_design0" // the least id above all with the prefix
)

// database implements exec.Database.
type database struct {
	source *Source
	db     *layer.Database
	// the user's catalog, and the database's name
	catalog *Catalog
	name    string
	// nil unless this is part of a snapshot
	pin *pin
}

// Designs implements exec.Database.
func (d *database) Designs(ctx context.Context) ([]exec.Design, error) {
	parsed, err := d.db.Designs(ctx)
	if err != nil {
		return nil, Error(err)
	}
	var designs []exec.Design
	for _, p := range parsed {
		if len(p.Views) > 0 || p.SQL != nil {
			designs = append(designs, design(p))
		}
	}
	slices.SortFunc(designs, func(a, b exec.Design) int { return strings.Compare(a.Name, b.Name) })
	return designs, nil
}

// Design implements exec.Database.
func (d *database) Design(ctx context.Context, name string) (exec.Design, error) {
	p, err := d.db.Design(ctx, designPrefix+name)
	if err != nil {
		return exec.Design{}, Error(err)
	}
	return design(p), nil
}

func design(p *layer.Design) exec.Design {
	d := exec.Design{Name: strings.TrimPrefix(p.ID, designPrefix), Partitioned: p.Partitioned, SQL: string(p.SQL)}
	shapes := p.Shapes()
	for i, v := range p.Views {
		reduce := strings.TrimSpace(v.Reduce)
		if reduce != "" && !strings.HasPrefix(reduce, "_") {
			reduce = "javascript"
		}
		d.Views = append(d.Views, exec.View{Name: v.Name, Reduce: reduce, RawCollation: v.Raw, Shape: shapes[i]})
	}
	slices.SortFunc(d.Views, func(a, b exec.View) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// Count implements exec.Counter.
func (d *database) Count(ctx context.Context, noDesigns bool) (int64, error) {
	info, err := d.db.Info(ctx)
	if err != nil || !noDesigns {
		return info.DocCount, Error(err)
	}
	designs, err := d.AllDocs(ctx, exec.DocsRead{Low: designPrefix, High: afterDesigns})
	if err != nil {
		return 0, err
	}
	defer func() { _ = designs.Close() }()
	var row exec.Row
	for n := info.DocCount; ; n-- {
		switch err := designs.Next(ctx, &row); {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return 0, err
		}
	}
}

// Document implements exec.Database.
func (d *database) Document(ctx context.Context, id string, withDoc bool, row *exec.Row) (bool, error) {
	if strings.HasPrefix(id, localPrefix) {
		return false, nil
	}
	doc, err := d.db.Get(ctx, id, layer.GetOptions{})
	switch {
	case is(err, layer.NotFound), is(err, layer.Invalid): // no document can have this id
		return false, nil
	case err != nil:
		return false, Error(err)
	}
	*row = exec.Row{ID: doc.ID, Rev: doc.Rev.String()}
	if withDoc {
		row.Doc = body(doc)
	}
	return true, nil
}

// AllDocs implements exec.Database.
func (d *database) AllDocs(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	switch b, err := d.newBodies(ctx, read); {
	case err != nil:
		return nil, err
	case b != nil:
		return b, nil
	}
	if read.NoDesigns {
		return d.allDocs(ctx, read, layer.WithoutDesigns)
	}
	return d.allDocs(ctx, read, layer.Everything)
}

// LocalDocs implements exec.Database.
func (d *database) LocalDocs(ctx context.Context, read exec.DocsRead) (exec.Rows, error) {
	return d.allDocs(ctx, read, layer.LocalOnly)
}

func (d *database) allDocs(ctx context.Context, read exec.DocsRead, only layer.Subset) (exec.Rows, error) {
	o := layer.AllDocsOptions{
		Keys: read.IDs, Descending: read.Descending && read.IDs == nil, // ids are already in the order of the read
		IncludeDocs: read.WithDoc, BodyOnly: read.Members && !read.WithRev, Only: only,
		Limit: atMost(read.Limit, read.Skip),
	}
	if read.IDs != nil {
		o.Limit = -1 // some may not exist
	} else {
		idRange(&o, read)
	}
	var m memory
	return newStream(ctx, batchRows, read.Skip, read.Limit,
		func(ctx context.Context) (iter.Seq2[layer.AllDocsRow, error], error) {
			result, err := d.db.AllDocs(ctx, o)
			if err != nil {
				return nil, err
			}
			return result.Rows, nil
		},
		func(r layer.AllDocsRow, row *exec.Row) (bool, error) {
			switch {
			case is(r.Err, layer.NotFound), r.Deleted, read.High != "" && r.ID >= read.High:
				return false, nil
			case r.Err != nil:
				return false, r.Err
			}
			row.ID = r.ID
			if read.WithRev {
				row.Rev = r.Rev.String()
			}
			switch {
			case o.BodyOnly && r.Doc != nil:
				row.Doc = r.Doc.Body
			case read.WithDoc:
				row.Doc = m.body(r.Doc)
			}
			return true, nil
		})
}

// idRange sets Low <= id < High. The layer's start is always inclusive, so a descending read may return High itself.
// The caller drops it, and the limit makes room for it.
func idRange(o *layer.AllDocsOptions, read exec.DocsRead) {
	var low, high *string
	if read.Low != "" {
		low = &read.Low
	}
	if read.High != "" {
		high = &read.High
	}
	if read.Descending {
		o.Start, o.End = high, low
		if high != nil && o.Limit >= 0 {
			o.Limit++
		}
		return
	}
	o.Start, o.End, o.ExcludeEnd = low, high, high != nil
}

// atMost returns how many rows to ask the layer for, or -1 for no limit.
func atMost(limit, skip int64) int {
	if limit <= 0 || limit+skip >= math.MaxInt32 {
		return -1
	}
	return int(limit + skip)
}

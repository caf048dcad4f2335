package exectest

import (
	"context"
	"errors"
	"io"

	"github.com/divandb/divan/query/exec"
)

// Sizes implements catalog.Sizer: the lengths of bodies, and of the keys and values of views.
func (db *DB) Sizes(ctx context.Context) (documents int64, views map[[2]string]int64, err error) {
	views = map[[2]string]int64{}
	db.mu.Lock()
	for _, d := range db.docs {
		documents += int64(len(d.body))
	}
	db.mu.Unlock()
	designs, err := db.Designs(ctx)
	if err != nil {
		return documents, views, err
	}
	for _, d := range designs {
		for _, v := range d.Views {
			rows, err := db.View(ctx, exec.ViewRead{Design: d.Name, View: v.Name})
			if err != nil {
				return documents, views, err
			}
			var row exec.Row
			for err == nil {
				if err = rows.Next(ctx, &row); err == nil {
					views[[2]string{d.Name, v.Name}] += int64(len(row.Key) + len(row.Value))
				}
			}
			if !errors.Is(err, io.EOF) {
				return documents, views, err
			}
		}
	}
	return documents, views, nil
}

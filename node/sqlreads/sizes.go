package sqlreads

import (
	"context"
	"strings"

	"github.com/divandb/divan/node/auth"
)

// ReadOnly implements catalog.Guarded.
func (d *database) ReadOnly() bool { return auth.ListedForServerAdmins(d.name) }

// Sizes implements catalog.Sizer.
func (d *database) Sizes(ctx context.Context) (documents int64, views map[[2]string]int64, err error) {
	info, err := d.db.Info(ctx)
	if err != nil {
		return 0, nil, Error(err)
	}
	views = map[[2]string]int64{}
	designs, err := d.db.Designs(ctx)
	if err != nil {
		return 0, nil, Error(err)
	}
	for _, design := range designs {
		if len(design.Views) == 0 {
			continue
		}
		state, err := d.db.Index(design).State(ctx)
		if err != nil {
			return 0, nil, Error(err)
		}
		for _, v := range state.Views {
			views[[2]string{strings.TrimPrefix(design.ID, designPrefix), v.Name}] = v.Bytes
		}
	}
	return info.FileSize, views, nil
}

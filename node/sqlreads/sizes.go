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
	list, err := d.db.Indexes(ctx)
	if err != nil {
		return 0, nil, Error(err)
	}
	for _, ix := range list {
		state, err := ix.State(ctx)
		if err != nil {
			return 0, nil, Error(err)
		}
		for _, v := range state.Views {
			views[[2]string{strings.TrimPrefix(ix.Design().ID, designPrefix), v.Name}] = v.Bytes
		}
	}
	return info.FileSize, views, nil
}

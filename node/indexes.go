package node

import (
	"context"
	"strings"
	"time"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/metrics"
	"github.com/divandb/divan/node/sqlreads"
)

// lagTimeout bounds how long a scrape of the metrics waits for the store.
const lagTimeout = 2 * time.Second

// maxIndexLags is how many indexes have metrics.
const maxIndexLags = 500

// indexes are the indexes that this node builds or was asked for recently.
type indexes struct {
	store  *layer.Store
	actors *actors.System
}

// lags returns how far each index is behind, for metrics. It costs a few reads for each index.
func (x indexes) lags() []metrics.Index {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	// Those that cannot be read are left out: that the store does not answer, another metric says.
	used, _ := x.actors.Indexes(ctx, maxIndexLags)
	lags := map[string]map[string]int64{} // by database and design document
	list := make([]metrics.Index, 0, len(used))
	for _, ix := range used {
		if !ix.Current && lags[ix.Database] == nil {
			lags[ix.Database] = x.lagsOf(ctx, ix.Database)
		}
		lag, known := lags[ix.Database][ix.Design]
		if !ix.Current && !known {
			continue
		}
		list = append(list, metrics.Index{
			Database: ix.Database, Design: strings.TrimPrefix(ix.Design,
				"_design/"), Lag: lag, Building: ix.Building && ix.Leads, Errors: ix.Errors,
		})
	}
	return list
}

// lagsOf returns the lags of a database's indexes, or nil if they cannot be read.
func (x indexes) lagsOf(ctx context.Context, name string) map[string]int64 {
	lags := map[string]int64{}
	db, err := x.store.Database(ctx, name)
	if err != nil {
		return lags
	}
	indexes, err := sqlreads.Indexes(ctx, db)
	if err != nil {
		return lags
	}
	for _, ix := range indexes {
		lags[ix.Design.ID] = ix.Lag
	}
	return lags
}

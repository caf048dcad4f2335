package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// errNoCut says that a build needs a cut of the feed (feed/cuts.go), and there is none.
var errNoCut = fault.Errf(fault.Conflict, "job_lost", "the feed is not kept as of where the index build goes")

// checkCut refuses to go on without the cut that the build began with: it ends with the build, or where no job has the
// build any more.
func (b *Build) checkCut(cfg *db.Config) error {
	if at, _ := cfg.CutOf(b.keys.Signature); !b.cutAt.IsZero() && at != b.cutAt {
		return errNoCut
	}
	return nil
}

// unindexed are the entries of whose documents an index has nothing.
func unindexed(r kv.Reader, k *index.Keys, entries []feed.Entry) ([]feed.Entry, error) {
	views := len(k.Design.Views)
	reads := make([]kv.Future[[]byte], 0, len(entries)*views)
	for i := range entries {
		for v := range views {
			reads = append(reads, r.Get(k.IdKey(entries[i].Id, v)))
		}
	}
	left := entries[:0]
	for i := range entries {
		there := false
		for v := range views {
			value, err := reads[i*views+v].Wait()
			if err != nil {
				return nil, err
			}
			there = there || value != nil
		}
		if !there {
			left = append(left, entries[i])
		}
	}
	return left, nil
}

package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/kv"
)

// errNoCut reports that the cut of the feed that a build needs (feed/cuts.go) does not exist.
var errNoCut = fault.Errf(fault.Conflict, "job_lost", "the cut of the feed that the index build reads no longer exists")

// checkCut returns errNoCut if the cut that the build began with is gone. A cut ends with its build, or when no job has
// the build any more.
func (b *Build) checkCut(cfg *db.Config) error {
	if at, _ := cfg.CutOf(b.keys.Signature); !b.cutAt.IsZero() && at != b.cutAt {
		return errNoCut
	}
	return nil
}

// unindexed returns the entries whose documents have nothing in the index.
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

package guard

import (
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// RestoreHorizon recreates the horizon file of an open store from memory if somebody has removed it.
func (g *Guard) RestoreHorizon() error {
	if err := g.Lock.Lost(); err != nil {
		return err // the directory is another one
	}
	gone, err := g.Horizon.Restore()
	if err != nil {
		return failure.ExplainDenied(err)
	}
	if gone {
		g.Store.Log.Error("a file of the store was removed while the store was open; it was written again",
			"file", horizon.HorizonFile)
	}
	return nil
}

// ManifestMended repairs the manifest of a store that is open or about to be opened, and reports whether that was
// necessary.
func (g *Guard) ManifestMended() (bool, error) {
	what, err := g.Horizon.MendManifest()
	if err != nil {
		return false, failure.ExplainDenied(err)
	}
	if what != "" {
		g.Store.Log.Error("the list of the store's tables was damaged on disk; it was restored from "+
			"its second copy: "+
			"the disk may be failing", "what", what)
	}
	return what != "", nil
}

package guard

import (
	"github.com/divandb/divan/layer/kv/embedded/internal/disk/horizon"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
)

// RestoreHorizon puts the horizon of an open store back where somebody has removed it: all of it is in memory.
func (g *Guard) RestoreHorizon() error {
	if err := g.Lock.Lost(); err != nil {
		return err // the directory is another one
	}
	gone, err := g.Horizon.Restore()
	if err != nil {
		return failure.ExplainDenied(err)
	}
	if gone {
		g.Store.Log.Error("a file of the store was removed while the store was open, and was written anew",
			"file", horizon.HorizonFile)
	}
	return nil
}

// ManifestMended is mendManifest for a store that is open or about to be. It reports whether there was anything to do.
func (g *Guard) ManifestMended() (bool, error) {
	what, err := g.Horizon.MendManifest()
	if err != nil {
		return false, failure.ExplainDenied(err)
	}
	if what != "" {
		g.Store.Log.Error("the list of the store's tables was not what was written, and was written anew from "+
			"its second "+
			"copy: the disk may be failing", "what", what)
	}
	return what != "", nil
}

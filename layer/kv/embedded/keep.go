package embedded

// restoreHorizon puts the horizon of an open store back where somebody has removed it: all of it is in memory.
func (g *guard) restoreHorizon() error {
	if err := g.lock.lost(); err != nil {
		return err // the directory is another one
	}
	gone, err := g.horizon.restore()
	if err != nil {
		return explainDenied(err)
	}
	if gone {
		g.store.log.Error("a file of the store was removed while the store was open, and was written anew",
			"file", horizonFile)
	}
	return nil
}

// manifestMended is mendManifest for a store that is open or about to be. It reports whether there was anything to do.
func (g *guard) manifestMended() (bool, error) {
	what, err := g.horizon.mendManifest()
	if err != nil {
		return false, explainDenied(err)
	}
	if what != "" {
		g.store.log.Error("the list of the store's tables was not what was written, and was written anew from its second "+
			"copy: the disk may be failing", "what", what)
	}
	return what != "", nil
}

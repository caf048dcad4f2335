package layer

// CacheTreesFrom keeps the trees of documents with so many branches, until the function that it returns is called.
func CacheTreesFrom(branches int) (restore func()) {
	old := cachedBranches
	cachedBranches = branches
	return func() { cachedBranches = old }
}

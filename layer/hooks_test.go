package layer

// CacheTreesFrom keeps the trees of documents with so many branches, until the function that it returns is called.
func CacheTreesFrom(branches int) (restore func()) {
	old := cachedBranches
	cachedBranches = branches
	return func() { cachedBranches = old }
}

// TreesOf makes trees of histories of up to so many bytes, and of what edits have to do with where there are more.
func TreesOf(bytes int) (restore func()) {
	old := maxTreeBytes
	maxTreeBytes = bytes
	return func() { maxTreeBytes = old }
}

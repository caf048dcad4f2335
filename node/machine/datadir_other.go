//go:build !unix

package machine

// checkDirectory does nothing: these systems have no modes of files.
func checkDirectory(string) (warning string) { return "" }

func readableByAll(string) bool { return false }

// Package guard is the file layer between Pebble and the files that a store cannot do without: logs, manifests and
// markers. It waits while they cannot be written, stops the engine if writing fails for good, and repairs files that
// have changed on disk while their content is still in memory. Tables, which stay readable apart from damaged blocks,
// are in package damage.
package guard

// Package build makes the rows of indexes from documents: first builds and those that follow the feed, shared by several
// nodes, and the part of interactive indexes in writes.
package build

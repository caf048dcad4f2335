// Package build makes the rows of indexes from documents: first builds and those that follow the feed, shared by
// several nodes, and the part of interactive indexes in writes. When an index is built, and by whom, is decided in
// actors; how rows are read meanwhile is in package index.
//
// docs/design/exact-index-reads.md explains how a build ends as of one sequence.
package build

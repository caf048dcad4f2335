// Package build runs the map functions of indexes over documents and writes the resulting rows. It contains first
// builds, incremental builds that follow the changes feed, builds shared by several nodes, and the maintenance of
// interactive indexes by document writes. Package actors decides when an index is built and by which node; package
// index reads rows while a build is running.
//
// docs/design/exact-index-reads.md explains how a build brings an index to exactly one sequence.
package build

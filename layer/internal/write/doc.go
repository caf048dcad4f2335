// Package write writes documents: it takes edits through stages, several of one transaction together, and purges them.
// Indexes that writes keep up to date take part through the interface that outcomes.go declares; their rows are made in
// package build.
package write

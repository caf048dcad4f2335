// Package write writes documents: it takes edits through stages, several of one transaction together, and purges them.
// The way of an edit is the table in stages.go; several edits of one document go another one (family.go).
// Indexes that writes keep up to date take part through the interface that outcomes.go declares; their rows are made in
// package build.
package write

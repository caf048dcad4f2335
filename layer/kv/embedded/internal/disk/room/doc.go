// Package room knows how much room the disk has, keeps some of it back, and lets commits in or makes them wait. What
// makes room is compacted in package compact.
package room

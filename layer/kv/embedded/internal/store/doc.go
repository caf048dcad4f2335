// Package store is what all parts of the embedded engine share: the Pebble database, where it lies, and whether it goes
// on. Opening and closing it, with all that stands around it, is the engine's.
package store

// Package store holds what all parts of the embedded engine share: the Pebble database, its directory, and whether it
// has failed. The engine opens and closes it.
package store

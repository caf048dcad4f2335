// Package storelock ensures that only one engine uses a store, and tells which process does. It does not look at the
// files in the directory.
package storelock

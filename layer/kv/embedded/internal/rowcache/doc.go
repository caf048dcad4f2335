// Package rowcache remembers single rows in memory, so that reading a key again costs a look and a copy. Pebble's own
// cache, which is of blocks, is none of its business, and who wants a version of the past asks the store.
package rowcache

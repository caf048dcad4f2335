// Package rowcache keeps single rows in memory, so that reading a key again costs a lookup and a copy. Pebble's own
// cache holds blocks. Reads at old versions go to the store.
package rowcache

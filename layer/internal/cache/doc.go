// Package cache caches values up to a limit in bytes, and lets concurrent callers that need the same value share one
// load. Its users check whether a cached value is still valid.
package cache

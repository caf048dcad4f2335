// Package versions has the readable states of the store, one for each group of commits, kept while they may be read,
// and reads of keys, selectors and ranges at one of them, merged with a transaction's own writes. Package txn derives
// the read conflicts.
package versions

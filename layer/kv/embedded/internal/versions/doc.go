// Package versions is the states of the store that can be read: one for each group of commits, for as long as somebody
// may read it, and reads of one, of single keys, selectors and ranges, through what a transaction has written. What a
// read means for conflicts is in package txn.
package versions

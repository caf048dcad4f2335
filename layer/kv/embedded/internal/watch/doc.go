// Package watch fires watches on keys after commits have changed them. The committer reports which keys were written;
// transactions (package txn) make and arm watches.
package watch

// Package watch fires watches on keys when commits have changed them. Who commits tells it which keys were written; a
// transaction arms its watches in package txn.
package watch

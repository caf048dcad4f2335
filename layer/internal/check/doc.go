// Package check compares stored data: the rows of each database with each other, and indexes with the documents. It
// also explains what damaged files mean for databases. It repairs nothing; package export saves what can be read.
package check

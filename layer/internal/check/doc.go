// Package check compares what is stored: of each database the rows with each other, and indexes with the documents. It
// also says what damage in files means for databases. It mends nothing; saving what can be read is in package export.
package check

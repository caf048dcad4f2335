// Package check compares what is stored: of each database the rows with each other, and indexes with the documents. It
// also says what damage in files means for databases.
package check

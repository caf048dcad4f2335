// Package export writes a database to a file, imports such files, and saves the readable part of a damaged database.
// node/relocate has the command line for it, and node/api the HTTP endpoints.
package export

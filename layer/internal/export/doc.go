// Package export writes a database to a file, makes one of such a file, and saves what can be read of a damaged one.
// The command line and HTTP side of it are in node/relocate and node/api.
package export

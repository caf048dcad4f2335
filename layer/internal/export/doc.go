// Package export writes a database to a file, makes one of such a file, and saves what can be read of a damaged one.
package export

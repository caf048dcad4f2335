// Package alldocs lists the documents of a database or a partition by id. Package feed lists them by sequence.
package alldocs

// Package alldocs lists the documents of a database and of a partition by id.
package alldocs

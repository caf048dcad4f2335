// Package alldocs lists the documents of a database and of a partition by id. It reads what package rev has of them;
// the order of sequences is in package feed.
package alldocs

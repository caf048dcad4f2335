// Package rev reads what is stored of documents: branches and their histories, bodies, and answers with one or many of
// them. A stream reads one database for as long as an answer takes.
package rev

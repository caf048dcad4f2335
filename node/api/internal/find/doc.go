// Package find has the endpoints of Mango: indexes, queries and their explanations. Package query/mango plans; this
// package reads the indexes and documents that a plan names, and streams the answer.
package find

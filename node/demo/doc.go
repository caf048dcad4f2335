// Package demo runs nodes on one machine with data to look at, as `divan demo` does. It starts the program once for
// each node, fills two databases over HTTP, prints what to try, and keeps writing a little. docs/tour.md is a
// tour with other data.
package demo

// Package ports is the layer as actors see it: a store with databases and a queue of jobs, databases with shards and
// indexes. Tests have their own.
package ports

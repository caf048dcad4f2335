// Package ports declares the layer's types as interfaces for actors: a store with databases and a job queue, databases
// with shards and indexes. Tests implement these interfaces themselves.
package ports

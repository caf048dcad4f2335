// Package replicator connects what runs replications, package replicate, with the rest of a node: with the options that
// clients change, with the API, and with the node's own databases, which replications reach by requests to the node
// itself. What a replication does, and what is kept of it, is package replicate's.
package replicator

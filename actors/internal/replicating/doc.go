// Package replicating has the actor that takes jobs of replications, as many as the node may run at once, and runs each
// in a goroutine of its own. What a replication does is a function that node gives it.
package replicating

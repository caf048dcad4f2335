// Package server answers for this node and the cluster: who is there, how it is, what it does, sessions, metrics,
// backups and the verification of the store. It declares what it needs of other rooms; node wires these.
package server

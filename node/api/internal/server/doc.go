// Package server answers for this node and the cluster: members, health, activity, sessions, metrics, backups and the
// verification of the store. It declares what it needs of other packages, and the node provides it.
package server

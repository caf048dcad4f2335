// Package console answers an operator's questions about the whole cluster, on any node. Each node answers for itself,
// and the node that is asked merges the answers of all (clause N3). A node that does not answer in time is listed
// as absent, and delays nothing.
package console

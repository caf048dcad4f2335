// Package databases answers for databases as a whole: lists of them, their creation and deletion, security, limits,
// compaction, partitions, export and import. Who may ask is decided by the router, package api.
package databases

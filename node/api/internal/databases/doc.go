// Package databases answers for databases as a whole: lists of them, their creation and deletion, security, limits,
// compaction, partitions, export and import. The router, package api, decides who may ask.
package databases

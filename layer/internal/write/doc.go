// Package write writes documents. An edit passes through the stages listed in stages.go, together with the other edits
// of its transaction; several edits of one document are written by family.go instead. The package also purges revisions
// and writes _local documents.
//
// Indexes that are updated by writes take part through the interface in outcomes.go; package build makes their rows.
package write

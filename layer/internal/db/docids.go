package db

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/revtree"
)

// MaxIDLength is the maximum length of a document id in bytes (docs/clauses.md, "HTTP").
const MaxIDLength = 512

// ValidateID rejects the document ids that CouchDB rejects: those that are empty, longer than 512 bytes, invalid UTF-8,
// or begin with an underscore other than that of _design/ or _local/.
func ValidateID(id string) error {
	switch {
	case id == "":
		return fault.Errf(fault.Invalid, "illegal_docid", "Document id must not be empty")
	case id == "_design/", id == "_local/":
		return fault.Errf(fault.Invalid, "illegal_docid", "Illegal document id `%s`", id)
	case len(id) > MaxIDLength:
		return fault.Errf(fault.Invalid, "illegal_docid", "Document id is too long")
	case !utf8.ValidString(id):
		return fault.Errf(fault.Invalid, "illegal_docid", "Document id must be valid UTF-8")
	case id[0] == '_' && !IsDesign(id) && !IsLocal(id):
		return fault.Errf(fault.Invalid, "illegal_docid", "Only reserved document ids may start with underscore.")
	}
	return nil
}

// IsDesign reports whether id is that of a design document.
func IsDesign(id string) bool { return strings.HasPrefix(id, "_design/") }

// IsLocal reports whether id is that of a _local document.
func IsLocal(id string) bool { return strings.HasPrefix(id, "_local/") }

// PartitionOf returns the partition of a document in a partitioned database.
func PartitionOf(id string) string {
	partition, _, _ := strings.Cut(id, ":")
	return partition
}

// ValidatePartition rejects invalid partition names, with CouchDB's messages: Invalid (illegal_partition).
func ValidatePartition(name string) error {
	switch {
	case name == "":
		return fault.Errf(fault.Invalid, "illegal_partition", "Partition must not be empty")
	case name[0] == '_':
		return fault.Errf(fault.Invalid, "illegal_partition", "Partition must not start with an underscore")
	case !utf8.ValidString(name):
		return fault.Errf(fault.Invalid, "illegal_partition", "Partition must be valid UTF-8")
	case strings.Contains(name, ":"):
		return fault.Errf(fault.Invalid, "illegal_partition", "Partition must not contain a colon")
	}
	return nil
}

// CheckID rejects ids that are invalid in a partitioned database. The caller has called ValidateID.
func (c *Config) CheckID(id string) error {
	if !c.Partitioned || IsDesign(id) || IsLocal(id) {
		return nil
	}
	partition, rest, ok := strings.Cut(id, ":")
	if !ok {
		return fault.Errf(fault.Invalid, "illegal_docid", "Doc id must be of form partition:id")
	}
	if err := ValidatePartition(partition); err != nil {
		return err
	}
	return ValidateID(rest)
}

// Rev is a revision id, "POS-HASH".
type Rev = revtree.Rev

// Subset restricts AllDocs.
type Subset int

const (
	Everything     Subset = iota
	DesignOnly            // _design_docs
	LocalOnly             // _local_docs
	WithoutDesigns        // all but _design_docs; TotalRows is 0
)

// CheckID returns Invalid (illegal_docid, illegal_partition) for ids that are invalid in this database. The caller has
// called ValidateID. Requests with many documents use it to reject the whole request.
func (d *Database) CheckID(ctx context.Context, id string) error {
	partitioned, err := d.IsPartitioned(ctx)
	if err != nil || !partitioned {
		return err
	}
	return (&Config{Partitioned: true}).CheckID(id)
}

// IsPartitioned reports whether the database was created with partitions. This never changes.
func (d *Database) IsPartitioned(ctx context.Context) (bool, error) {
	if c := d.Core.Load(); c != nil {
		if cfg := c.Cached.Load(); cfg != nil {
			return cfg.Partitioned, nil
		}
	}
	return Read(ctx, d, func(t *Txn) (bool, error) { return t.Cfg.Partitioned, nil })
}

package db

import (
	"context"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// WatchedDesign is a design document that writes have to look at. Its JSON is read by the first write that needs it,
// and is not kept: a node may have many databases open.
type WatchedDesign struct {
	Id  string
	Rev Rev
	Key atomic.Pointer[string] // its id and a digest of its JSON
}

// DesignEntry is a value of keyspace.Designs. Only writes of design documents that writes have to look at change the
// stamp: others leave every node's cache as it is (https://github.com/apache/couchdb/issues/2952).
type DesignEntry struct {
	Id      string // the key's
	Rev     Rev
	Watched bool // it has a validate_doc_update
	// Interactive is the signature of an index that writes have to keep up to date (V4), "" if none.
	Interactive string
}

func ParseDesignEntry(value []byte) (e DesignEntry, err error) {
	var rest []byte
	if e.Rev, rest, err = TakeRev(value); err != nil {
		return e, Corrupt("design document entry", err)
	}
	flags, rest, err := tuple.TakeInt(rest)
	if err == nil && flags&InteractiveFlag != 0 {
		e.Interactive, _, err = tuple.TakeString(rest)
	}
	if err != nil {
		return e, Corrupt("design document entry", err)
	}
	e.Watched = flags&WatchedFlag != 0
	return e, nil
}

// ReadDesignEntries collects a range read of Designs. prefixLen is the length of the subspace's prefix.
func ReadDesignEntries(rows kv.RangeIterator, prefixLen int) ([]DesignEntry, error) {
	defer rows.Close()
	var entries []DesignEntry
	for rows.Next() {
		row := rows.KeyValue()
		e, err := ParseDesignEntry(row.Value)
		if err != nil {
			return nil, err
		}
		if e.Id, _, err = tuple.TakeString(row.Key[prefixLen:]); err != nil {
			return nil, Corrupt("design document entry", err)
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// Validator runs what design documents say about writes. layer/script has one; node plugs it in. Safe for concurrent
// use.
type Validator interface {
	// CheckDesign refuses a design document that cannot be compiled: an *Error of kind Invalid (compilation_error). doc
	// is its JSON.
	CheckDesign(ctx context.Context, doc []byte) error
	// Watches reports whether writes of other documents have to look at the design document: it has a
	// validate_doc_update function.
	Watches(doc []byte) bool
	// Validate runs the validate_doc_update function of a design document. key stands for the document's content, in
	// whatever database, for the Validator's cache, and load reads its JSON. newDoc and oldDoc are JSON (oldDoc nil:
	// none). An *Error of kind Forbidden or Unauthorized with the function's reason, or FunctionFailed.
	Validate(ctx context.Context, key string, load func() ([]byte, error), newDoc, oldDoc []byte, user *UserCtx,
		dbName string, security []byte) error
}

const (
	WatchedFlag     = 1
	InteractiveFlag = 2
)

// ConcernsWrites reports whether writes of other documents have to look at the design document.
func (e *DesignEntry) ConcernsWrites() bool { return e.Watched || e.Interactive != "" }

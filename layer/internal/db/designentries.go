package db

import (
	"context"
	"sync/atomic"

	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// WatchedDesign is a design document that validates writes. The first write that needs its JSON reads it; it is not
// kept, because a node may have many databases open.
type WatchedDesign struct {
	Id  string
	Rev Rev
	Key atomic.Pointer[string] // its id and a digest of its JSON
}

// DesignEntry is a value of keyspace.Designs. Only changes of design documents that concern writes change the stamp.
// Others leave the configuration cached by every node valid (https://github.com/apache/couchdb/issues/2952).
type DesignEntry struct {
	Id      string // from the key
	Rev     Rev
	Watched bool // has a validate_doc_update function
	// Interactive is the signature of an interactive index (V4), "" if none.
	Interactive string
}

// ParseDesignEntry decodes a value of keyspace.Designs. The id is in the key.
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

// ReadDesignEntries decodes a range read of Designs. prefixLen is the length of the subspace's prefix.
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

// Validator runs the functions of design documents that validate writes. layer/script implements it. A Validator is
// safe for concurrent use.
type Validator interface {
	// CheckDesign returns an *Error of kind Invalid (compilation_error) if a design document cannot be compiled. doc is
	// its JSON.
	CheckDesign(ctx context.Context, doc []byte) error
	// Watches reports whether the design document has a validate_doc_update function.
	Watches(doc []byte) bool
	// Validate runs the validate_doc_update function of a design document. key identifies the document's content, in
	// any database, for the Validator's cache; load reads its JSON. newDoc and oldDoc are JSON; oldDoc may be nil. The
	// error is an *Error of kind Forbidden or Unauthorized with the function's reason, or FunctionFailed.
	Validate(ctx context.Context, key string, load func() ([]byte, error), newDoc, oldDoc []byte, user *UserCtx,
		dbName string, security []byte) error
}

const (
	WatchedFlag     = 1
	InteractiveFlag = 2
)

// ConcernsWrites reports whether writes of other documents depend on the design document.
func (e *DesignEntry) ConcernsWrites() bool { return e.Watched || e.Interactive != "" }

package build

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// takeOver returns the index's sequence, or a Conflict if a newer build is running. If the rows are in an older
// collation, it removes them and returns the zero IndexSeq and true.
func (s *start) takeOver(
	t *db.Txn, old *index.BuildStatus, sequence kv.Future[[]byte],
) (at index.IndexSeq, stale bool, err error) {
	if old != nil && old.Token > s.Token {
		return at, false, fault.Errf(fault.Conflict, "job_lost", "a newer build of the index is running")
	}
	if at, err = index.ParseIndexSeq(sequence); err != nil || !at.Stale() {
		return at, false, err
	}
	index.Clear(t, &s.keys)
	return index.IndexSeq{}, true, nil
}

// startOver discards the progress of a build made by an older version, which removed purged documents last. Its steps
// may have passed documents that were purged and created again; these are now removed at the start. An index without a
// sequence is cleared, because scans skip deleted documents.
func (s *start) startOver(t *db.Txn, at index.IndexSeq) (_ index.IndexSeq, cleared bool) {
	if at.Seq.IsZero() {
		index.Clear(t, &s.keys)
		return index.IndexSeq{}, true
	}
	t.ClearRange(db.PrefixRange(s.keys.InfoKey(keyspace.ViewProgress)))
	return at, false
}

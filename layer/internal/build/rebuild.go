package build

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/feed"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/jobs"
)

// Rebuild removes everything from the index, and enqueues the job that builds it again from the documents. Requests
// wait for the new build; a build that is running ends with a Conflict. It returns Invalid for an index that writers
// update themselves, which is built again by deleting and creating it, and NotFound if no design document has the index
// any more.
func (ix Index) Rebuild(ctx context.Context) error {
	_, _, err := db.Transact(ctx, ix.Db, func(t *db.Txn) (struct{}, error) {
		d, err := design.WithSignature(t, ix.Design().ID, ix.Design().Signature)
		if err != nil {
			return struct{}{}, err
		}
		if t.Cfg.Maintains(d.Signature) {
			return struct{}{}, fault.Errf(fault.Invalid, "bad_request", "the index of %s is updated by every write: "+
				"delete it and create it again", d.ID)
		}
		keys := ix.Keys(t.Keys)
		if err := keys.Find(t)(); err != nil {
			return struct{}{}, err
		}
		index.Clear(t, &keys)
		feed.EndCut(t, d.Signature)
		of := jobs.IndexJob{Database: t.Core.Name, Design: d.ID, Signature: d.Signature}
		return struct{}{}, jobs.Enqueue(ix.Db.Store, t, jobs.IndexJobs, of.ID(), of.Encode(), 0)
	})
	return err
}

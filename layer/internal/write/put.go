package write

import (
	"context"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
)

// Put writes one document: one transaction. Conflict, Forbidden, Unauthorized, Invalid, TooLarge.
// The uploads of an edit that is not written are removed.
func (d Database) Put(ctx context.Context, e rev.Edit, o rev.WriteOptions) (_ db.Rev, err error) {
	o.Atomic = false
	defer func() {
		if err != nil {
			attach.Of(d.Database).Discard(ctx, &e)
		}
	}()
	if err := attach.UploadLarge(ctx, d.Database, &e); err != nil {
		return db.Rev{}, err
	}
	ps := []pendingEdit{{e: &e}}
	if err := (&batchWriter{d: d.Database, o: o, portions: db.NewPortions(1)}).write(ctx, ps); err != nil {
		return db.Rev{}, err
	}
	if ps[0].err != nil {
		return db.Rev{}, ps[0].err
	}
	return ps[0].rev(), nil
}

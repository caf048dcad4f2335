package write

import (
	"context"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/kv"
)

// Put writes one document in one transaction. Errors are of kind Conflict, Forbidden, Unauthorized, Invalid or
// TooLarge. Uploads of an edit that is not written are removed.
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
	written, c, err := db.Transact(ctx, d.Database, func(t *db.Txn) (func(kv.Committed), error) {
		if o.Replicated && isFamily(d.Database, ps, o) {
			_, written, err := writeFamily(t, ps, o)
			return written, err
		}
		_, err := writeEdits(t, ps, o)
		return nil, err
	})
	switch {
	case db.TooMuch(err) && fault.KindOf(err) == fault.TooLarge:
		return db.Rev{}, errEditTooLarge(e.ID)
	case err != nil:
		return db.Rev{}, err
	case written != nil:
		written(c)
	}
	if ps[0].err == nil {
		d.CountWrites(1, 0)
	} else {
		d.CountWrites(0, 1)
	}
	return ps[0].rev(), ps[0].err
}

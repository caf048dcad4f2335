package layer

import "context"

// Put writes one document: one transaction. Conflict, Forbidden, Unauthorized, Invalid, TooLarge.
// The uploads of an edit that is not written are removed.
func (d *Database) Put(ctx context.Context, e Edit, o WriteOptions) (_ Rev, err error) {
	o.Atomic = false
	defer func() {
		if err != nil {
			d.Discard(ctx, &e)
		}
	}()
	if err := d.uploadLarge(ctx, &e); err != nil {
		return Rev{}, err
	}
	ps := []pendingEdit{{e: &e}}
	if err := (&batchWriter{d: d, o: o, portions: newPortions(1)}).write(ctx, ps); err != nil {
		return Rev{}, err
	}
	if ps[0].err != nil {
		return Rev{}, ps[0].err
	}
	return ps[0].rev(), nil
}

// rev is the revision that an edit without error has.
func (p *pendingEdit) rev() Rev {
	if p.plan.hasAdded {
		return p.plan.added.rev
	}
	return p.e.Rev
}

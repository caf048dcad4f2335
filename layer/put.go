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
	if d.knowsTree(e.ID, o) && inFamily(&e, o) {
		ps := []pendingEdit{{e: &e}}
		if err := d.writeBatch(ctx, ps, o); err != nil {
			return Rev{}, err
		}
		return ps[0].rev(), ps[0].err
	}
	var mapped []mappedEdit // by earlier attempts
	var ps [1]pendingEdit
	ps, _, err = transact(ctx, d, func(t *txn) ([1]pendingEdit, error) {
		ps := [1]pendingEdit{{e: &e, mapped: mapped}}
		err := t.writeEdits(ps[:], o)
		mapped = ps[0].mapped
		if err == nil {
			err = ps[0].err
		}
		return ps, err
	})
	if tooLarge(err) {
		err = errIndexedTooLarge(e.ID)
	}
	if err != nil {
		return Rev{}, err
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

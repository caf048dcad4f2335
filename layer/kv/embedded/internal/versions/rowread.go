package versions

import (
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/embedded/internal/failure"
	"github.com/divandb/divan/layer/kv/embedded/internal/keys"
	"github.com/divandb/divan/layer/kv/embedded/internal/store"
	"github.com/divandb/divan/layer/kv/embedded/internal/writes"
)

// SelectKey resolves a selector at v, merged with writes. read is the span it walked over.
func (v *View) SelectKey(sel kv.KeySelector, writes *writes.Set) (key []byte, read keys.Span, err error) {
	if err := keys.LegalBound(sel.Key); err != nil {
		return nil, keys.Span{}, err
	}
	from := sel.Key
	if sel.OrEqual {
		from = keys.After(from)
	}
	forward := sel.Offset > 0
	r, steps := keys.Span{Begin: []byte{}, End: from}, 1-sel.Offset
	if forward {
		r, steps = keys.Span{Begin: from, End: keys.EndOfKeys}, sel.Offset
	}
	if !r.Empty() {
		c, err := v.open(r, !forward, writes)
		if err != nil {
			return nil, keys.Span{}, err
		}
		defer c.close()
		for ; steps > 0; steps-- {
			if !c.next() {
				break
			}
		}
		if c.err != nil {
			return nil, keys.Span{}, c.err
		}
		if steps == 0 {
			key = append([]byte{}, c.key...)
		}
	}
	switch {
	case key == nil && forward:
		return keys.EndOfKeys, r, nil
	case key == nil:
		return []byte{}, r, nil
	case forward:
		return key, keys.Span{Begin: from, End: keys.After(key)}, nil
	}
	return key, keys.Span{Begin: key, End: from}, nil
}

// Get reads one key at the view's version.
func (v *View) Get(key []byte) ([]byte, error) {
	if !v.enter() {
		return nil, failure.ErrTooOld
	}
	defer v.leave()
	if value, known := v.rows.Get(key, v.Version); known {
		return value, nil
	}
	value, err := store.Value(v.snap, key)
	if err == nil {
		v.rows.Fill(key, value, v.Version)
	}
	return value, err
}

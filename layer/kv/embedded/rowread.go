package embedded

import "github.com/divandb/divan/layer/kv"

// selectKey resolves a selector at v, through writes. read is what it walked over.
func (v *view) selectKey(sel kv.KeySelector, writes *writeSet) (key []byte, read span, err error) {
	if err := legalBound(sel.Key); err != nil {
		return nil, span{}, err
	}
	from := sel.Key
	if sel.OrEqual {
		from = keyAfter(from)
	}
	forward := sel.Offset > 0
	r, steps := span{begin: []byte{}, end: from}, 1-sel.Offset
	if forward {
		r, steps = span{begin: from, end: endOfKeys}, sel.Offset
	}
	if !r.empty() {
		c, err := v.open(r, !forward, writes)
		if err != nil {
			return nil, span{}, err
		}
		defer c.close()
		for ; steps > 0; steps-- {
			if !c.next() {
				break
			}
		}
		if c.err != nil {
			return nil, span{}, c.err
		}
		if steps == 0 {
			key = append([]byte{}, c.key...)
		}
	}
	switch {
	case key == nil && forward:
		return endOfKeys, r, nil
	case key == nil:
		return []byte{}, r, nil
	case forward:
		return key, span{begin: from, end: keyAfter(key)}, nil
	}
	return key, span{begin: key, end: from}, nil
}

// get reads one key at the view's version.
func (v *view) get(key []byte) ([]byte, error) {
	if !v.enter() {
		return nil, errTooOld
	}
	defer v.leave()
	if value, known := v.rows.get(key, v.version); known {
		return value, nil
	}
	value, err := readCopy(v.snap, key)
	if err == nil {
		v.rows.fill(key, value, v.version)
	}
	return value, err
}

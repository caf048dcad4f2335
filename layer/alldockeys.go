package layer

import (
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// keys answers the documents asked for by id, in that order, deleted ones with their revision.
func (a *allDocs) keys() error {
	asked := a.o.Keys
	if a.o.Descending {
		asked = make([]string, 0, len(a.o.Keys))
		for i := len(a.o.Keys) - 1; i >= 0; i-- {
			asked = append(asked, a.o.Keys[i])
		}
	}
	const window = 64
	p := newPortions(window)
	var patience kv.Patience
	for len(asked) > 0 {
		part := asked[:min(p.now, len(asked))]
		more, err := a.keysPart(part)
		if err != nil {
			if !p.lessen(len(part), 0) {
				err = patience.Tried(err)
			}
			if err = a.s.renew(err); err != nil {
				return err
			}
			continue
		}
		if !more {
			return nil
		}
		asked = asked[len(part):]
		patience.Progress()
		p.took(len(part), len(part), 0)
	}
	return nil
}

// keysPart reads the winners of some ids together, and then queues the rows. It fails before the first is queued or not at all for a
// reason that a new transaction cures.
func (a *allDocs) keysPart(ids []string) (more bool, err error) {
	rows := make([]kv.RangeIterator, len(ids))
	for i, id := range ids {
		rows[i] = getRange(a.s.r, a.s.keys.doc(nil, keyspace.Revisions, id), kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	}
	answers := make([]AllDocsRow, len(ids))
	for i, id := range ids {
		leaves, readErr := readLeaves(rows[i], len(a.s.keys.doc(nil, keyspace.Revisions, id)), false, nil)
		if readErr != nil {
			err = readErr // go on: every iterator has to be closed
			continue
		}
		answers[i].ID = id
		if len(leaves) == 0 || a.o.Only == DesignOnly && !isDesign(id) || a.o.Only == WithoutDesigns && isDesign(id) {
			answers[i].Err = errMissing()
			continue
		}
		answers[i].Rev, answers[i].Deleted = leaves[0].rev, leaves[0].deleted
	}
	if err != nil {
		return false, err
	}
	for _, row := range answers {
		wanted, more := a.counted()
		if !wanted {
			continue
		}
		ok, err := a.push(row, nil)
		if err != nil || !ok || !more {
			return false, err
		}
	}
	return true, nil
}

// locals walks the _local documents.
func (a *allDocs) locals() error {
	prefix := a.s.keys.sub(nil, keyspace.Local)
	r := idRange(prefix, idBounds{a.o.Start, a.o.End, a.o.ExcludeEnd, a.o.Descending})
	var id string
	turn := 0
	chunks := map[int64][]byte{}
	finish := func() (bool, error) {
		if id == "" {
			return true, nil
		}
		var whole []byte
		for i := range int64(len(chunks)) {
			whole = append(whole, chunks[i]...)
		}
		clear(chunks)
		if turn != a.s.turn { // it may have changed between its chunks
			var err error
			if whole, err = a.s.readLocal(id); err != nil || whole == nil {
				return err == nil, err
			}
		}
		return a.local(id, whole)
	}
	err := a.s.scan(r, kv.RangeOptions{Reverse: a.o.Descending}, func(row kv.KeyValue) (bool, error) {
		next, rest, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return false, corrupt("_local document", err)
		}
		chunk, _, err := tuple.TakeInt(rest)
		if err != nil {
			return false, corrupt("_local document", err)
		}
		if next != id {
			if more, err := finish(); err != nil || !more {
				id = ""
				return false, err
			}
			id, turn = next, a.s.turn
		}
		chunks[chunk] = append([]byte(nil), row.Value...)
		return true, nil
	})
	if err == nil {
		_, err = finish()
	}
	return err
}

// local yields a _local document.
func (a *allDocs) local(id string, whole []byte) (more bool, err error) {
	n, body, err := parseLocal(whole)
	if err != nil {
		return false, err
	}
	wanted, more := a.counted()
	if !wanted {
		return true, nil
	}
	row := AllDocsRow{ID: id, Rev: localRev(n)}
	if a.o.IncludeDocs {
		row.Doc = &Document{ID: id, Rev: row.Rev, Body: body}
	}
	return a.yield(row, nil) && more, nil
}

// readLocal reads the chunks of a _local document in one transaction; nil if there is none.
func (s *stream) readLocal(id string) (whole []byte, err error) {
	err = s.try(func() error {
		whole = nil
		rows := getRange(s.r, s.keys.doc(nil, keyspace.Local, id), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			whole = append(whole, rows.KeyValue().Value...)
		}
		return rows.Err()
	})
	return whole, err
}

// localKeys answers the _local documents asked for by id.
func (a *allDocs) localKeys() error {
	for _, id := range a.o.Keys {
		whole, err := a.s.readLocal(id)
		if err != nil {
			return err
		}
		more := true
		if whole != nil {
			more, err = a.local(id, whole)
		} else if wanted, left := a.counted(); wanted {
			more = a.yield(AllDocsRow{ID: id, Err: errMissing()}, nil) && left
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

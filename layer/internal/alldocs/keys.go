package alldocs

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// keys answers with the documents in Keys, in that order. Deleted ones have their revision.
func (a *AllDocs) keys() error {
	asked := a.O.Keys
	if a.O.Descending {
		asked = make([]string, 0, len(a.O.Keys))
		for i := len(a.O.Keys) - 1; i >= 0; i-- {
			asked = append(asked, a.O.Keys[i])
		}
	}
	const window = 64
	p := db.NewPortions(window)
	var patience kv.Patience
	for len(asked) > 0 {
		part := asked[:min(p.Now, len(asked))]
		more, err := a.keysPart(part)
		if err != nil {
			if !p.Halve(len(part), 0) {
				err = patience.Tried(err)
			}
			if err = a.S.Renew(err); err != nil {
				return err
			}
			continue
		}
		if !more {
			return nil
		}
		asked = asked[len(part):]
		patience.Progress()
		p.Adapt(len(part), len(part), 0)
	}
	return nil
}

// keysPart reads the winners of some ids together, and then queues the rows. Errors that a new transaction can cure
// only occur before the first row is queued.
func (a *AllDocs) keysPart(ids []string) (more bool, err error) {
	rows := make([]kv.RangeIterator, len(ids))
	for i, id := range ids {
		rows[i] = db.GetRange(a.S.R, a.S.Keys.Doc(nil, keyspace.Revisions, id),
			kv.RangeOptions{Reverse: true, Limit: 1, Mode: kv.ModeExact})
	}
	answers := make([]AllDocsRow, len(ids))
	for i, id := range ids {
		leaves, readErr := rev.ReadLeaves(rows[i], len(a.S.Keys.Doc(nil, keyspace.Revisions, id)), false, nil)
		if readErr != nil {
			err = readErr // continue, because every iterator has to be closed
			continue
		}
		answers[i].ID = id
		if len(leaves) == 0 || a.O.Only == db.DesignOnly && !db.IsDesign(id) ||
			a.O.Only == db.WithoutDesigns && db.IsDesign(id) {
			answers[i].Err = rev.ErrMissing()
			continue
		}
		answers[i].Rev, answers[i].Deleted = leaves[0].Rev, leaves[0].Deleted
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

// locals reads the _local documents.
func (a *AllDocs) locals() error {
	prefix := a.S.Keys.Sub(nil, keyspace.Local)
	r := db.IdRange(prefix,
		db.IdBounds{Start: a.O.Start, End: a.O.End, ExcludeEnd: a.O.ExcludeEnd, Descending: a.O.Descending})
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
		// It may have changed between its chunks.
		if turn != a.S.Turn {
			var err error
			if whole, err = readLocal(a.S, id); err != nil || whole == nil {
				return err == nil, err
			}
		}
		return a.local(id, whole)
	}
	err := a.S.Scan(r, kv.RangeOptions{Reverse: a.O.Descending}, func(row kv.KeyValue) (bool, error) {
		next, rest, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return false, db.Corrupt("_local document", err)
		}
		chunk, _, err := tuple.TakeInt(rest)
		if err != nil {
			return false, db.Corrupt("_local document", err)
		}
		if next != id {
			if more, err := finish(); err != nil || !more {
				id = ""
				return false, err
			}
			id, turn = next, a.S.Turn
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
func (a *AllDocs) local(id string, whole []byte) (more bool, err error) {
	n, body, err := write.ParseLocal(whole)
	if err != nil {
		return false, err
	}
	wanted, more := a.counted()
	if !wanted {
		return true, nil
	}
	row := AllDocsRow{ID: id, Rev: write.LocalRev(n)}
	if a.O.IncludeDocs {
		row.Doc = &rev.Document{ID: id, Rev: row.Rev, Body: body}
	}
	a.yielded++
	return a.Yield(row, nil) && more, nil
}

// readLocal reads the chunks of a _local document in one transaction. It returns nil if there is none.
func readLocal(s *rev.Stream, id string) (whole []byte, err error) {
	err = s.Try(func() error {
		whole = nil
		rows := db.GetRange(s.R, s.Keys.Doc(nil, keyspace.Local, id), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			whole = append(whole, rows.KeyValue().Value...)
		}
		return rows.Err()
	})
	return whole, err
}

// localKeys answers with the _local documents in Keys.
func (a *AllDocs) localKeys() error {
	for _, id := range a.O.Keys {
		whole, err := readLocal(a.S, id)
		if err != nil {
			return err
		}
		more := true
		if whole != nil {
			more, err = a.local(id, whole)
		} else if wanted, left := a.counted(); wanted {
			a.yielded++
			more = a.Yield(AllDocsRow{ID: id, Err: rev.ErrMissing()}, nil) && left
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

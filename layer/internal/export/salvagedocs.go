package export

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// documents writes the documents in the order of their ids.
func (v *salvage) documents() error {
	prefix := v.x.s.Keys.Sub(nil, keyspace.Revisions)
	v.handled = map[string]bool{}
	err := v.holes.Scan(v.x.s.R, db.PrefixRange(prefix), func(row kv.KeyValue) error {
		id, rest, err := tuple.TakeString(row.Key[len(prefix):])
		if err != nil {
			return v.left(Left{Kind: "document", What: "a key cannot be decoded"})
		}
		if id != v.pending.id {
			if err := v.flush(); err != nil {
				return err
			}
			v.pending.id = id
		}
		if v.handled[id] {
			return nil
		}
		var l rev.LeafKV
		if rev.ParseLeafKey(&l, rest) != nil || rev.ParseLeafValue(&l, row.Value, true) != nil {
			return v.left(Left{Kind: "history", ID: id, What: "one of its branches cannot be decoded"})
		}
		v.pending.leaves = append(v.pending.leaves, l)
		return nil
	}, func(gap kv.KeyRange) error { return v.gap(gap, prefix) })
	if err != nil {
		return err
	}
	if err := v.flush(); err != nil {
		return err
	}
	for _, keys := range v.without {
		if in, ok := db.Intersect(keys, db.PrefixRange(prefix)); ok {
			first, last := idsOf(in, prefix)
			if _, err := v.named(first, last, v.withoutTree); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutTree handles a document that may have lost all its branches.
func (v *salvage) withoutTree(id string) error {
	if v.handled[id] {
		return nil
	}
	leaves, err := v.leaves(id)
	if err != nil || len(leaves) > 0 {
		if isUnreadable(err) {
			err = nil // already recorded
		}
		return err
	}
	v.handled[id] = true
	return v.newestBody(id)
}

// flush writes the collected document.
func (v *salvage) flush() error {
	id, leaves := v.pending.id, v.pending.leaves
	v.pending.id, v.pending.leaves = "", nil
	if len(leaves) == 0 {
		return nil
	}
	return v.document(id, leaves)
}

// gap handles the documents whose branches may be in a gap. It tries each document that other lists mention.
func (v *salvage) gap(gap kv.KeyRange, prefix []byte) error {
	first, last := idsOf(gap, prefix)
	before := v.pending.id // it may have more branches in the gap
	v.pending.id, v.pending.leaves = "", nil
	clear(v.handled)
	try := func(id string) error {
		if v.handled[id] {
			return nil
		}
		v.handled[id] = true
		return v.single(id)
	}
	if before != "" {
		if err := try(before); err != nil {
			return err
		}
	}
	whole, err := v.named(first, last, try)
	if err != nil || whole {
		return err
	}
	return v.left(Left{Kind: "document", ID: first, Last: last, What: "those whose revisions and bodies are both " +
		"unreadable"})
}

// named calls try with the ids in a range that are found in lists other than that of branches. whole reports whether
// these lists are completely readable.
func (v *salvage) named(first, last string, try func(id string) error) (whole bool, err error) {
	keys := v.x.s.Keys
	whole = true
	for _, list := range []keyspace.Subspace{keyspace.AllDocs, keyspace.Documents} {
		n := len(keys.Sub(nil, list))
		r := db.PrefixRange(keys.Sub(nil, list))
		if first != "" {
			r.Begin = keys.Doc(nil, list, first)
		}
		if end := append(keys.Doc(nil, list, last), 0xff); bytes.Compare(end, r.End) < 0 {
			r.End = end
		}
		err := v.holes.Scan(v.x.s.R, r, func(row kv.KeyValue) error {
			id, _, err := tuple.TakeString(row.Key[n:])
			if err != nil || id < first || id > last {
				return nil //nolint:nilerr // it contains no id
			}
			return try(id)
		}, func(kv.KeyRange) error { whole = false; return nil })
		if err != nil {
			return false, err
		}
	}
	return whole, nil
}

// single tries one document: its branches, or at least its newest body.
func (v *salvage) single(id string) error {
	leaves, err := v.leaves(id)
	switch {
	case err == nil && len(leaves) > 0:
		return v.document(id, leaves)
	case err != nil && !isUnreadable(err):
		return err
	}
	return v.newestBody(id)
}

// leaves reads the branches of one document.
func (v *salvage) leaves(id string) ([]rev.LeafKV, error) {
	prefix := v.x.s.Keys.Doc(nil, keyspace.Revisions, id)
	return rev.ReadLeaves(rev.ReadTree(v.x.s.R, v.x.s.Keys, id), len(prefix), true, nil)
}

// newestBody writes a document of which only bodies are left: the newest one, without history.
func (v *salvage) newestBody(id string) error {
	x := v.x
	prefix := x.s.Keys.Doc(nil, keyspace.Documents, id)
	var newest *rev.LeafKV
	err := v.holes.Scan(x.s.R, db.PrefixRange(prefix), func(row kv.KeyValue) error {
		r, rest, err := db.TakeRev(row.Key[len(prefix):])
		if err != nil {
			return nil //nolint:nilerr // undecodable key
		}
		chunk, _, err := tuple.TakeInt(rest)
		if err != nil || chunk != 0 {
			return nil //nolint:nilerr // as above
		}
		if body, found, err := v.body(id, r); err == nil && found && (newest == nil || newest.Rev.Pos <= r.Pos) {
			newest = &rev.LeafKV{Rev: r, Deleted: body.Deleted, Winner: true, Seq: v.nextSeq(), Branches: 1}
		}
		return nil
	}, func(kv.KeyRange) error { return nil })
	if err != nil {
		return err
	}
	if newest == nil {
		return v.left(Left{Kind: "document", ID: id, What: "its revisions and bodies are damaged"})
	}
	what := "its revisions are damaged; kept the newest readable body, of revision " + newest.Rev.String()
	if err := v.left(Left{Kind: "history", ID: id, What: what}); err != nil {
		return err
	}
	return v.document(id, []rev.LeafKV{*newest})
}

func (v *salvage) body(id string, r db.Rev) (rev.StoredBody, bool, error) {
	read := rev.ReadBody(v.x.s.R, v.x.s.Keys, id, r)
	return read.Wait()
}

// document writes what can be read of a document. If a part that was announced turns out to be unreadable, the document
// is written again without it.
func (v *salvage) document(id string, leaves []rev.LeafKV) error {
	o := salvaged{v: v, id: id, leaves: leaves, without: map[[16]byte]bool{}}
	if err := o.tryBodies(); err != nil {
		return err
	}
	for again := true; again; {
		if len(o.leaves) == 0 {
			return nil // already recorded
		}
		var err error
		if again, err = o.write(); err != nil {
			return err
		}
	}
	return nil
}

// salvaged is a document being written.
type salvaged struct {
	v       *salvage
	id      string
	leaves  []rev.LeafKV
	without map[[16]byte]bool // attachments that are lost
}

// tryBodies drops the leaves whose bodies are lost, before anything is written of the document.
func (o *salvaged) tryBodies() error {
	var kept []rev.LeafKV
	for _, l := range o.leaves {
		_, found, err := o.v.body(o.id, l.Rev)
		switch {
		case err != nil && !isUnreadable(err):
			return err
		case err == nil && found:
			kept = append(kept, l)
		default:
			if err := o.lost(&l, err); err != nil {
				return err
			}
		}
	}
	o.leaves = kept
	return nil
}

// lost records a leaf without a body.
func (o *salvaged) lost(l *rev.LeafKV, err error) error {
	left := Left{Kind: "revision", ID: o.id, What: "the body of revision " + l.Rev.String() + " is damaged"}
	if err == nil {
		left.What = "the body of revision " + l.Rev.String() + " is missing"
	}
	if len(o.leaves) == 1 {
		left.Kind = "document"
	}
	return o.v.left(left)
}

// write writes the document. again reports that a leaf or an attachment had to be dropped.
func (o *salvaged) write() (again bool, err error) {
	x := o.v.x
	winner := &o.leaves[len(o.leaves)-1]
	if !winner.Winner || winner.Seq.IsZero() {
		winner.Winner, winner.Seq = true, o.v.nextSeq()
	}
	if winner.Seq.Compare(o.v.newest) > 0 {
		o.v.newest = winner.Seq
	}
	h := Document{id: o.id, seq: winner.Seq, winner: winner.Seq, leaves: int64(len(o.leaves))}
	if err := x.w.write(RecordDocument, h.append(nil)); err != nil {
		return false, err
	}
	e := exporting{x: x, id: o.id}
	for i := range o.leaves {
		l := &o.leaves[i]
		body, found, err := o.v.body(o.id, l.Rev)
		if err != nil && !isUnreadable(err) {
			return false, err
		}
		if err != nil || !found {
			told := o.lost(l, err)
			o.leaves = append(o.leaves[:i:i], o.leaves[i+1:]...)
			return true, told
		}
		body = o.keep(body)
		if gone, err := e.leaf(l, &body); err != nil || gone {
			if gone || isUnreadable(err) {
				return o.giveUp(&e, body)
			}
			return false, err
		}
	}
	return false, e.flush()
}

// keep returns a body without the attachments that are lost.
func (o *salvaged) keep(body rev.StoredBody) rev.StoredBody {
	kept := make([]rev.Attachment, 0, len(body.Attachments))
	for i := range body.Attachments {
		if !o.without[body.Attachments[i].ID] {
			kept = append(kept, body.Attachments[i])
		}
	}
	body.Attachments = kept
	return body
}

// giveUp finds the attachment that could not be written, which is the one with incomplete data.
func (o *salvaged) giveUp(e *exporting, body rev.StoredBody) (again bool, err error) {
	for i := range body.Attachments {
		a := &body.Attachments[i]
		if !attach.WholeAttachment(o.v.x.s.R, o.v.x.s.Keys, o.id, a) {
			o.without[a.ID] = true
			return true, o.v.left(Left{Kind: "attachment", ID: o.id, What: a.Name + " is damaged; kept the " +
				"document without it"})
		}
	}
	return false, db.Corrupt("attachment", write.ErrNoData)
}

package exectest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/divandb/divan/query/exec"
)

// transaction implements exec.Transaction with a copy of a snapshot.
type transaction struct {
	*DB   // the copy
	began int
	marks []map[string]*doc // the documents before each call of Write
}

// Begin implements exec.Writable.
func (f *frozen) Begin() (exec.Transaction, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &transaction{DB: copyOf(f.DB, f.copied), began: f.seq}, nil
}

// Mark implements exec.Transaction.
func (t *transaction) Mark() int { return len(t.marks) }

// At implements exec.Transaction.
func (t *transaction) At(mark int) exec.Database {
	docs := t.docs
	if mark < len(t.marks) {
		docs = t.marks[mark]
	}
	c := copyOf(t.DB, t.copied)
	c.docs = maps.Clone(docs)
	return c
}

// RollBack implements exec.Transaction.
func (t *transaction) RollBack(mark int) {
	if mark < len(t.marks) {
		t.docs, t.marks = t.marks[mark], t.marks[:mark]
	}
}

// Wrote implements exec.Transaction.
func (t *transaction) Wrote() bool { return len(t.marks) > 0 }

// Write implements exec.Transaction. A document with a member "refused" is refused with its value.
func (t *transaction) Write(_ context.Context, edits []exec.Edit) ([]exec.Written, error) {
	before := maps.Clone(t.docs)
	var out []exec.Written
	for i := range edits {
		w, err := t.write(&edits[i])
		if err != nil {
			t.docs = before
			return nil, err
		}
		out = append(out, w)
	}
	t.marks = append(t.marks, before)
	return out, nil
}

func (t *transaction) write(e *exec.Edit) (exec.Written, error) {
	refuse := func(kind exec.Kind, format string, args ...any) (exec.Written, error) {
		return exec.Written{}, &exec.ReadError{Kind: kind, Message: fmt.Sprintf(format, args...)}
	}
	var members map[string]json.RawMessage
	if e.Deleted {
		e.Doc = json.RawMessage("{}")
	}
	if json.Unmarshal(e.Doc, &members) != nil || members == nil {
		return refuse(exec.Refused, "Document must be a JSON object")
	}
	var id, rev, why string
	_ = json.Unmarshal(members["_id"], &id)
	_ = json.Unmarshal(members["_rev"], &rev)
	if json.Unmarshal(members["refused"], &why) == nil {
		return refuse(exec.Refused, "%s", why)
	}
	switch {
	case e.ID == "" && id == "":
		e.ID = fmt.Sprintf("chosen%d", t.seq)
	case e.ID == "":
		e.ID = id
	case id != "" && id != e.ID:
		return refuse(exec.Refused, "the document's member _id is %q, but its id is %q", id, e.ID)
	}
	old := t.docs[e.ID]
	switch live := old != nil && !old.deleted; {
	case strings.HasPrefix(e.ID, "_design/"):
		return refuse(exec.Unsupported, "design documents are written over HTTP")
	case e.Rev == "" && live:
		return refuse(exec.Exists, "Key (id)=(%s) already exists.", e.ID)
	case rev != "" && rev != e.Rev, e.Rev != "" && (!live || old.row("", false).Rev != e.Rev):
		return refuse(exec.Stale, "document update conflict")
	}
	delete(members, "_id")
	delete(members, "_rev")
	if old == nil {
		old = &doc{}
	}
	one := *old
	t.docs[e.ID] = &one
	if len(members) > 0 && (id != "" || rev != "") {
		// Keep the order of the other members.
		e.Doc = cutMembers(e.Doc)
	} else if len(members) == 0 {
		e.Doc = json.RawMessage("{}")
	}
	t.put(e.ID, string(e.Doc), e.Deleted)
	row := t.docs[e.ID].row(e.ID, !e.Deleted)
	return exec.Written{ID: row.ID, Rev: row.Rev, Doc: row.Doc}, nil
}

// cutMembers removes _id and _rev from a document.
func cutMembers(text json.RawMessage) json.RawMessage {
	d := json.NewDecoder(strings.NewReader(string(text)))
	_, _ = d.Token()
	var rest []string
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		_ = d.Decode(&value)
		if key != "_id" && key != "_rev" {
			rest = append(rest, quote(fmt.Sprint(key))+":"+string(value))
		}
	}
	return json.RawMessage("{" + strings.Join(rest, ",") + "}")
}

// Commit implements exec.Transaction. Any other write since the snapshot is a conflict.
func (t *transaction) Commit(ctx context.Context) error {
	if !t.Wrote() {
		return nil
	}
	db := t.copied
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.seq != t.began {
		return &exec.ReadError{Kind: exec.Stale, Message: "another writer has changed what the transaction has read"}
	}
	db.docs, db.seq = t.docs, t.seq
	close(db.wake)
	db.wake = make(chan struct{})
	if db.Committed != nil {
		return db.Committed(ctx)
	}
	return nil
}

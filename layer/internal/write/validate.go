package write

import (
	"bytes"
	"crypto/sha256"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// AppendValue encodes (RevPosition, RevHash, flags), and the signature of an interactive index.
func AppendValue(e *db.DesignEntry, dst []byte) []byte {
	dst = db.AppendRev(dst, e.Rev)
	var flags int64
	if e.Watched {
		flags |= db.WatchedFlag
	}
	if e.Interactive == "" {
		return tuple.AppendInt(dst, flags)
	}
	return tuple.AppendString(tuple.AppendInt(dst, flags|db.InteractiveFlag), e.Interactive)
}

// watched reports whether design documents have a say in the edit. As in CouchDB they have none in design documents.
func watched(t *db.Txn, o rev.WriteOptions, id string) bool {
	return o.User != nil && len(t.Cfg.Watched) > 0 && !db.IsDesign(id) && StateOf(t.Db.Store).Validator != nil
}

// validates reports whether somebody has a say in the edits of a transaction.
func validates(b *batch) bool { return b.o.User != nil && StateOf(b.t.Db.Store).Validator != nil }

// judgement is what the function of a design document said about an edit: nil, or its refusal. Attempts of a
// transaction share it, so that functions that take long do not make each attempt long.
type judgement struct {
	design         string // id and revision
	security       []byte
	newDoc, oldDoc []byte
	err            error
}

// judgements are what was said about one edit.
type judgements []judgement

// before is what an earlier attempt was told of the same edit.
func (js *judgements) before(design string, newDoc, oldDoc, security []byte) (said error, ok bool) {
	for i := range *js {
		j := &(*js)[i]
		if j.design == design && bytes.Equal(j.newDoc, newDoc) && bytes.Equal(j.oldDoc, oldDoc) &&
			bytes.Equal(j.security, security) {
			return j.err, true
		}
	}
	return nil, false
}

// ask asks one design document, unless an earlier attempt has asked it. What depends on the moment, such as too many
// functions that run already, is asked again.
func (js *judgements) ask(design string, newDoc, oldDoc, security []byte, ask func() error) error {
	if said, ok := js.before(design, newDoc, oldDoc, security); ok {
		return said
	}
	err := ask()
	switch kind := fault.KindOf(err); {
	case err == nil:
	case kind != fault.Forbidden && kind != fault.Unauthorized && kind != fault.Invalid && kind != fault.FunctionFailed:
		return err
	}
	*js = append(*js, judgement{design, security, newDoc, oldDoc, err})
	return err
}

// validate asks the design documents, and checks design documents themselves.
func validate(b *batch, p *pendingEdit) error {
	t, o, c := b.t, b.o, &p.content
	if c.stored == nil {
		return nil
	}
	v := StateOf(t.Db.Store).Validator
	doc := rev.Document{ID: p.e.ID, Rev: p.plan.parent, Deleted: p.e.Deleted, Body: c.body, Attachments: c.attachments}
	if o.Replicated {
		doc.Rev = p.e.Rev
		doc.Revs = append([]db.Rev{p.e.Rev}, p.e.Ancestors...)
	}
	ctx := script.Charge(t.Ctx, t.Db.Name(), script.Interactive)
	if db.IsDesign(p.e.ID) {
		if p.e.Deleted {
			return nil
		}
		design := doc.AppendJSON(nil)
		return p.said.ask("", design, nil, nil, func() error { return v.CheckDesign(ctx, design) })
	}
	if !watched(t, o, p.e.ID) {
		return nil
	}
	newDoc := doc.AppendJSON(nil)
	var oldDoc []byte
	if c.hasParent && !p.plan.old.IsZero() {
		oldDoc = c.parentBody.Document(p.e.ID, p.plan.parent).AppendJSON(nil)
	}
	for _, w := range t.Cfg.Watched {
		key, load, err := watchedContent(w, t)
		if err != nil {
			return err
		}
		if key == "" {
			continue
		}
		err = p.said.ask(key, newDoc, oldDoc, t.Cfg.Security, func() error {
			return v.Validate(ctx, key, load, newDoc, oldDoc, o.User, t.Db.Name(), t.Cfg.Security)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// watchedContent is the design document's key for the Validator, "" where there is none, and how to read its JSON.
// The key is made of the content: a replicator may give another document the same id and revision elsewhere.
func watchedContent(w *db.WatchedDesign, t *db.Txn) (key string, load func() ([]byte, error), err error) {
	if known := w.Key.Load(); known != nil {
		return *known, func() ([]byte, error) {
			json, err := read(w, t)
			if err == nil && json == nil {
				err = db.Corrupt("body of "+w.Id, ErrNoBody) // or the design document is another one by now
			}
			return json, err
		}, nil
	}
	json, err := read(w, t)
	if err != nil || json == nil {
		return "", nil, err
	}
	digest := sha256.Sum256(json)
	key = w.Id + " " + string(digest[:])
	w.Key.Store(&key)
	return key, func() ([]byte, error) { return json, nil }, nil
}

// read is the design document's JSON; nil where there is none.
func read(w *db.WatchedDesign, t *db.Txn) ([]byte, error) {
	r := rev.ReadBody(t, t.Keys, w.Id, w.Rev)
	s, found, err := r.Wait()
	if err != nil || !found {
		return nil, err
	}
	return s.Document(w.Id, w.Rev).AppendJSON(nil), nil
}

package layer

import (
	"bytes"
	"crypto/sha256"

	"github.com/divandb/divan/layer/script"
	"github.com/divandb/divan/layer/tuple"
)

// appendValue encodes (RevPosition, RevHash, flags), and the signature of an interactive index.
func (e *designEntry) appendValue(dst []byte) []byte {
	dst = appendRev(dst, e.rev)
	var flags int64
	if e.watched {
		flags |= watchedFlag
	}
	if e.interactive == "" {
		return tuple.AppendInt(dst, flags)
	}
	return tuple.AppendString(tuple.AppendInt(dst, flags|interactiveFlag), e.interactive)
}

// watched reports whether design documents have a say in the edit. As in CouchDB they have none in design documents.
func (p *pendingEdit) watched(t *txn, o WriteOptions) bool {
	return o.User != nil && writeOf(t.db.store).validator != nil && len(t.cfg.watched) > 0 && !isDesign(p.e.ID)
}

// judgement is what the function of a design document said about an edit: nil, or its refusal. Attempts of a
// transaction share it, so that functions that take long do not make each attempt long.
type judgement struct {
	design         string // id and revision
	security       []byte
	newDoc, oldDoc []byte
	err            error
}

// judgedBefore is what an earlier attempt was told of the same edit.
func (p *pendingEdit) judgedBefore(design string, newDoc, oldDoc, security []byte) (said error, ok bool) {
	for i := range p.judged {
		j := &p.judged[i]
		if j.design == design && bytes.Equal(j.newDoc, newDoc) && bytes.Equal(j.oldDoc, oldDoc) &&
			bytes.Equal(j.security, security) {
			return j.err, true
		}
	}
	return nil, false
}

// judge asks one design document, unless an earlier attempt has asked it. What depends on the moment, such as too many
// functions that run already, is asked again.
func (p *pendingEdit) judge(design string, newDoc, oldDoc, security []byte, ask func() error) error {
	if said, ok := p.judgedBefore(design, newDoc, oldDoc, security); ok {
		return said
	}
	err := ask()
	switch kind := KindOf(err); {
	case err == nil:
	case kind != Forbidden && kind != Unauthorized && kind != Invalid && kind != FunctionFailed:
		return err
	}
	p.judged = append(p.judged, judgement{design, security, newDoc, oldDoc, err})
	return err
}

// validate asks the design documents, and checks design documents themselves.
func (p *pendingEdit) validate(t *txn, o WriteOptions) error {
	if p.stored == nil {
		return nil
	}
	v := writeOf(t.db.store).validator
	doc := Document{ID: p.e.ID, Rev: p.plan.parent, Deleted: p.e.Deleted, Body: p.body, Attachments: p.attachments}
	if o.Replicated {
		doc.Rev = p.e.Rev
		doc.Revs = append([]Rev{p.e.Rev}, p.e.Ancestors...)
	}
	ctx := script.Charge(t.ctx, t.db.name, script.Interactive)
	if isDesign(p.e.ID) {
		if p.e.Deleted {
			return nil
		}
		design := doc.AppendJSON(nil)
		return p.judge("", design, nil, nil, func() error { return v.CheckDesign(ctx, design) })
	}
	if !p.watched(t, o) {
		return nil
	}
	newDoc := doc.AppendJSON(nil)
	var oldDoc []byte
	if p.hasParent && !p.plan.old.IsZero() {
		oldDoc = p.parentBody.document(p.e.ID, p.plan.parent).AppendJSON(nil)
	}
	for _, w := range t.cfg.watched {
		key, load, err := w.content(t)
		if err != nil {
			return err
		}
		if key == "" {
			continue
		}
		err = p.judge(key, newDoc, oldDoc, t.cfg.security, func() error {
			return v.Validate(ctx, key, load, newDoc, oldDoc, o.User, t.db.name, t.cfg.security)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// content is the design document's key for the Validator, "" where there is none, and how to read its JSON.
// The key is made of the content: a replicator may give another document the same id and revision elsewhere.
func (w *watchedDesign) content(t *txn) (key string, load func() ([]byte, error), err error) {
	if known := w.key.Load(); known != nil {
		return *known, func() ([]byte, error) {
			json, err := w.read(t)
			if err == nil && json == nil {
				err = corrupt("body of "+w.id, errNoBody) // or the design document is another one by now
			}
			return json, err
		}, nil
	}
	json, err := w.read(t)
	if err != nil || json == nil {
		return "", nil, err
	}
	digest := sha256.Sum256(json)
	key = w.id + " " + string(digest[:])
	w.key.Store(&key)
	return key, func() ([]byte, error) { return json, nil }, nil
}

// read is the design document's JSON; nil where there is none.
func (w *watchedDesign) read(t *txn) ([]byte, error) {
	r := readBody(t, t.keys, w.id, w.rev)
	s, found, err := r.wait()
	if err != nil || !found {
		return nil, err
	}
	return s.document(w.id, w.rev).AppendJSON(nil), nil
}

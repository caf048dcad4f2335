package write

import (
	"bytes"
	"crypto/sha256"
	"slices"

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

// watched reports whether design documents validate the edit. As in CouchDB, edits of design documents are not
// validated.
func watched(t *db.Txn, o rev.WriteOptions, id string) bool {
	return o.User != nil && len(t.Cfg.Watched) > 0 && !db.IsDesign(id) && StateOf(t.Db.Store).Validator != nil
}

// validation is the result of one design document's function for an edit. Attempts of a transaction share it, so that
// slow functions do not make every attempt slow.
type validation struct {
	design         string // id and revision
	security       []byte
	newDoc, oldDoc []byte
	err            error
}

// validations are the results for one edit.
type validations []validation

// before returns an earlier attempt's result for the same edit.
func (js *validations) before(design string, newDoc, oldDoc, security []byte) (earlier error, ok bool) {
	for i := range *js {
		j := &(*js)[i]
		if j.design == design && bytes.Equal(j.newDoc, newDoc) && bytes.Equal(j.oldDoc, oldDoc) &&
			bytes.Equal(j.security, security) {
			return j.err, true
		}
	}
	return nil, false
}

// ask validates by one design document, unless an earlier attempt has done so. Temporary errors, such as too many
// running functions, are not kept.
func (js *validations) ask(design string, newDoc, oldDoc, security []byte, ask func() error) error {
	if earlier, ok := js.before(design, newDoc, oldDoc, security); ok {
		return earlier
	}
	err := ask()
	switch kind := fault.KindOf(err); {
	case err == nil:
	case kind != fault.Forbidden && kind != fault.Unauthorized && kind != fault.Invalid && kind != fault.FunctionFailed:
		return err
	}
	*js = append(*js, validation{design, security, newDoc, oldDoc, err})
	return err
}

// validate calls the functions of design documents, and checks design documents themselves.
func validate(b *batch, p *pendingEdit) error {
	t, o, c := b.t, b.o, &p.content
	if o.User == nil || c.stored == nil {
		return nil
	}
	v := StateOf(t.Db.Store).Validator
	if v == nil {
		return nil
	}
	doc := rev.Document{ID: p.e.ID, Rev: p.plan.parent, Deleted: p.e.Deleted, Body: c.body, Attachments: c.attachments}
	if o.Replicated {
		doc.Rev = p.e.Rev
	}
	ctx := script.Charge(t.Ctx, t.Db.Name(), script.Interactive)
	if db.IsDesign(p.e.ID) {
		if p.e.Deleted {
			return nil
		}
		design := doc.AppendJSON(nil)
		return p.validations.ask("", design, nil, nil, func() error { return v.CheckDesign(ctx, design) })
	}
	if !watched(t, o, p.e.ID) {
		return nil
	}
	if !doc.Rev.IsZero() {
		doc.Revs = append([]db.Rev{doc.Rev}, p.e.Ancestors...) // as the edit tells, which may be none
	}
	newDoc := doc.AppendJSON(nil)
	var oldDoc []byte
	if c.hasParent && !p.plan.old.IsZero() {
		old := c.parentBody.Document(p.e.ID, p.plan.parent)
		var err error
		if old.Revs, err = oldRevs(p); err != nil {
			return err
		}
		oldDoc = old.AppendJSON(nil)
	}
	for _, w := range t.Cfg.Watched {
		key, load, err := watchedContent(w, t)
		if err != nil {
			return err
		}
		if key == "" {
			continue
		}
		err = p.validations.ask(key, newDoc, oldDoc, t.Cfg.Security, func() error {
			return v.Validate(ctx, key, load, newDoc, oldDoc, o.User, t.Db.Name(), t.Cfg.Security)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// oldRevs returns the old revision and its ancestors, newest first. Like CouchDB it names few (the default of
// query_server_config/revs_limit). If the old revision is no leaf, the ancestors are those that the edit names.
func oldRevs(p *pendingEdit) ([]db.Rev, error) {
	const most = 20
	revs := []db.Rev{p.plan.old}
	if i := slices.Index(p.e.Ancestors, p.plan.old); i >= 0 {
		revs = p.e.Ancestors[i:]
	}
	for _, l := range p.plan.replaced {
		if l.Rev != p.plan.old {
			continue
		}
		b, err := l.Branch()
		if err != nil {
			return nil, err
		}
		revs = b.Path()
	}
	return revs[:min(len(revs), most)], nil
}

// watchedContent returns the design document's key for the Validator, or "" if there is none, and a function that reads
// its JSON. The key contains a digest of the content, because a replicator may write another document with the same id
// and revision elsewhere.
func watchedContent(w *db.WatchedDesign, t *db.Txn) (key string, load func() ([]byte, error), err error) {
	if known := w.Key.Load(); known != nil {
		return *known, func() ([]byte, error) {
			json, err := read(w, t)
			if err == nil && json == nil {
				err = db.Corrupt("body of "+w.Id, ErrNoBody) // or the design document has changed in the meantime
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

// read returns the design document's JSON, or nil if there is none.
func read(w *db.WatchedDesign, t *db.Txn) ([]byte, error) {
	r := rev.ReadBody(t, t.Keys, w.Id, w.Rev)
	s, found, err := r.Wait()
	if err != nil || !found {
		return nil, err
	}
	return s.Document(w.Id, w.Rev).AppendJSON(nil), nil
}

package node

import (
	"context"
	"errors"
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/console"
	"github.com/divandb/divan/node/replicator"
)

// userDocuments reads user documents from the store.
type userDocuments struct {
	store *layer.Store
	auth  func() *auth.Authenticator // that reads them
}

// UserDocument implements auth.Users.
func (u userDocuments) UserDocument(ctx context.Context, database, name string) (doc []byte, conflicted bool,
	err error) {
	_, d, err := u.document(ctx, database, auth.UserPrefix+name)
	if d == nil {
		return nil, false, err
	}
	return d.Body, len(d.Conflicts) > 0, nil
}

// HasUserDocument implements auth.Users.
func (u userDocuments) HasUserDocument(ctx context.Context, database, name string) (has bool, err error) {
	db, err := u.store.Database(ctx, database)
	if err == nil {
		has, err = db.Exists(ctx, auth.UserPrefix+name)
	}
	return has, noDocument(err)
}

// document reads the winner of a document in a database of users. It returns nil if there is none.
func (u userDocuments) document(ctx context.Context, database, id string) (*layer.Database, *layer.Document, error) {
	db, err := u.store.Database(ctx, database)
	if err == nil {
		var d *layer.Document
		if d, err = db.Get(ctx, id, layer.GetOptions{Conflicts: true}); err == nil {
			return db, d, nil
		}
	}
	return nil, nil, noDocument(err)
}

// noDocument returns nil for an error that says that there is no document, or that none can have this name.
func noDocument(err error) error {
	if k := layer.KindOf(err); k == layer.NotFound || k == layer.Invalid {
		return nil
	}
	return err
}

// writeUserDesign writes the design document of users if an earlier version made their database, or nothing did since.
func writeUserDesign(n *Node) func(context.Context) error {
	return func(ctx context.Context) error {
		db, err := n.store.Database(ctx, n.auth.UsersDatabase())
		if err == nil {
			err = auth.EnsureUserDesign(ctx, db)
		}
		if err = noDocument(err); err != nil && ctx.Err() == nil { // such as a full disk; the rules hold without it
			n.log.Warn("the design document of users could not be written; the next start tries again", "error", err)
		}
		return nil
	}
}

// UpgradePassword implements auth.Upgrader.
func (u userDocuments) UpgradePassword(ctx context.Context, database, name, password string) error {
	db, doc, err := u.document(ctx, database, auth.UserPrefix+name)
	if doc == nil {
		return err
	}
	body, err := auth.WithSamePassword(doc.Body, password)
	if err != nil {
		return err
	}
	if body, err = u.auth().HashUserDocument(ctx, body); err != nil {
		return err
	}
	_, err = db.Put(ctx, layer.Edit{ID: doc.ID, Rev: doc.Rev, Body: body, KeepAttachments: true},
		layer.WriteOptions{User: &layer.UserCtx{Roles: []string{auth.AdminRole}}})
	if layer.KindOf(err) == layer.Conflict { // changed meanwhile, perhaps to another password
		err = nil
	}
	return err
}

// retryLogin is the Retry-After, in seconds, when too many clients are logging in.
const retryLogin = "5"

// authenticator implements api.Authenticator with auth.
type authenticator struct{ *auth.Authenticator }

// Authenticate implements api.Authenticator.
func (a authenticator) Authenticate(r *http.Request, h http.Header) (api.User, error) {
	if own, ok := replicator.User(r); ok {
		return own, nil
	}
	u, err := a.Authenticator.Authenticate(r)
	if err != nil {
		if errors.Is(err, auth.ErrBusy) {
			h.Set("Retry-After", retryLogin)
		}
		return api.User{}, err
	}
	if !console.MaySend(r.Context(), u.Name) {
		return api.User{}, &layer.Error{Kind: layer.Forbidden, Reason: "The token of the page is that of another user."}
	}
	a.Renew(h, r, u)
	return api.User{Name: u.Name, Roles: u.Roles, Handler: u.Handler}, nil
}

// ServeSession implements api.Authenticator.
func (a authenticator) ServeSession(w http.ResponseWriter, r *http.Request, u api.User) error {
	err := a.Authenticator.ServeSession(w, r, auth.UserCtx{UserCtx: userCtx(u), Handler: u.Handler})
	if errors.Is(err, auth.ErrBusy) {
		w.Header().Set("Retry-After", retryLogin)
	}
	return err
}

// Admit implements api.Authenticator.
func (a authenticator) Admit(r *http.Request, u api.User) error {
	return a.Authenticator.Admit(r, userCtx(u))
}

// HasAdmins implements api.Authenticator.
func (a authenticator) HasAdmins() bool { return !a.Open() }

func userCtx(u api.User) layer.UserCtx { return layer.UserCtx{Name: u.Name, Roles: u.Roles} }

// userRules applies the rules of databases of users to HTTP requests.
type userRules struct {
	store *layer.Store
	auth  *auth.Authenticator
}

// BeforeWrite implements api.Users. If another write replaces the winner that it compares with, this write becomes a
// conflict.
func (u userRules) BeforeWrite(ctx context.Context, database string, by api.User, dbAdmin bool,
	e *layer.Edit) error {
	body := e.Body
	if !e.Deleted {
		var err error
		if body, err = u.auth.HashUserDocument(ctx, body); err != nil {
			return err
		}
	}
	_, winner, err := userDocuments{store: u.store}.document(ctx, database, e.ID)
	if err != nil {
		return err
	}
	var old []byte
	if winner != nil {
		old = winner.Body
	}
	err = auth.CheckUserUpdate(auth.UserUpdate{
		ID: e.ID, New: body, Old: old, Deleted: e.Deleted, By: userCtx(by), DatabaseAdmin: dbAdmin,
	})
	if err == nil {
		e.Body = body
	}
	return err
}

// AfterRead implements api.Users.
func (u userRules) AfterRead(by api.User, dbAdmin bool, doc *layer.Document) error {
	err := auth.CheckUserRead(doc.ID, userCtx(by), dbAdmin)
	if layer.KindOf(err) == layer.NotFound && err != nil {
		if public := u.auth.PublicPart(doc.Body); public != nil {
			doc.Body, err = public, nil
		}
	}
	return err
}

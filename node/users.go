package node

import (
	"context"
	"errors"
	"net/http"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/replicator"
)

// userDocuments reads user documents from the store.
type userDocuments struct{ store *layer.Store }

// UserDocument implements auth.Users.
func (u userDocuments) UserDocument(ctx context.Context, name string) (doc []byte, conflicted bool, err error) {
	return u.document(ctx, auth.UserPrefix+name)
}

// document reads the winner of a document in _users. It returns nil if there is none.
func (u userDocuments) document(ctx context.Context, id string) (doc []byte, conflicted bool, err error) {
	db, err := u.store.Database(ctx, auth.UsersDatabase)
	if err == nil {
		var d *layer.Document
		if d, err = db.Get(ctx, id, layer.GetOptions{Conflicts: true}); err == nil {
			return d.Body, len(d.Conflicts) > 0, nil
		}
	}
	// Invalid: no document can have this name
	if k := layer.KindOf(err); k == layer.NotFound || k == layer.Invalid {
		return nil, false, nil
	}
	return nil, false, err
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

// HasAdmins implements api.Authenticator.
func (a authenticator) HasAdmins() bool { return !a.Open() }

func userCtx(u api.User) layer.UserCtx { return layer.UserCtx{Name: u.Name, Roles: u.Roles} }

// userRules applies the rules of the _users database to HTTP requests.
type userRules struct {
	store *layer.Store
	auth  *auth.Authenticator
}

// BeforeWrite implements api.Users. If another write replaces the winner that it compares with, this write becomes a
// conflict.
func (u userRules) BeforeWrite(ctx context.Context, by api.User, dbAdmin bool, e *layer.Edit) error {
	body := e.Body
	if !e.Deleted {
		var err error
		if body, err = u.auth.HashUserDocument(ctx, body); err != nil {
			return err
		}
	}
	old, _, err := userDocuments{u.store}.document(ctx, e.ID)
	if err != nil {
		return err
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
	return auth.CheckUserRead(doc.ID, userCtx(by), dbAdmin)
}

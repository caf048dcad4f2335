package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/sqlreads"
	"github.com/divandb/divan/query"
)

// passwords changes passwords over SQL.
type passwords struct {
	store *layer.Store
	auth  *auth.Authenticator
}

// set implements ALTER USER ... PASSWORD.
func (p passwords) set(ctx context.Context, who query.Principal, user, secret string) error {
	return sqlreads.Error(p.change(ctx, who, user, secret)) // such as that of a password that breaks a rule
}

// change changes an admin in the settings of all nodes, as PUT /_node/_local/_config/admins does, or any other user in
// the user's document.
func (p passwords) change(ctx context.Context, who query.Principal, user, secret string) error {
	by := layer.UserCtx{Name: who.User, Roles: []string{auth.AdminRole}}
	if who.Authenticated {
		var err error
		if by, err = p.auth.User(ctx, who.User); err != nil {
			return err
		}
	} else if !p.auth.Open() {
		return query.ErrNotYours
	}
	admin := slices.Contains(by.Roles, auth.AdminRole)
	if user != by.Name && !admin {
		return query.ErrNotYours
	}
	if _, err := auth.IsVerifier(secret); err != nil {
		return errors.Join(query.ErrBadSecret, err)
	}
	if _, ok := p.auth.Admins()[user]; ok {
		if _, err := p.auth.SetAdmin(ctx, user, secret); err != nil {
			return fmt.Errorf("set the password of an admin: %w", err)
		}
		return nil
	}
	return p.setUser(ctx, by, admin, user, secret)
}

// setUser writes a user's document as if the request had come over HTTP.
func (p passwords) setUser(ctx context.Context, by layer.UserCtx, admin bool, user, secret string) error {
	database := p.auth.UsersDatabase()
	db, err := p.store.Database(ctx, database)
	var doc *layer.Document
	if err == nil {
		doc, err = db.Get(ctx, auth.UserPrefix+user, layer.GetOptions{})
	}
	if k := layer.KindOf(err); k == layer.NotFound || k == layer.Invalid {
		return query.ErrNoUser
	}
	if err != nil {
		return fmt.Errorf("read the user: %w", err)
	}
	body, err := auth.WithSecret(p.auth, doc.Body, secret)
	if errors.Is(err, auth.ErrUncheckable) {
		return query.ErrUncheckable
	}
	if err != nil {
		return errors.Join(query.ErrBadSecret, err)
	}
	edit := layer.Edit{ID: doc.ID, Rev: doc.Rev, Body: body, KeepAttachments: true}
	rules := userRules(p)
	if err := rules.BeforeWrite(ctx, database, api.User{Name: by.Name, Roles: by.Roles}, admin, &edit); err != nil {
		return err
	}
	_, err = db.Put(ctx, edit, layer.WriteOptions{User: &by})
	if layer.KindOf(err) == layer.Conflict {
		return query.ErrChangedMeanwhile
	}
	return err
}

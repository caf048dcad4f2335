package auth

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/divandb/divan/layer"
)

// UserDesign is the id of the design document of the users' database.
const UserDesign = "_design/_auth"

// userRules is the function of that document. It states the rules of CheckUserUpdate, for clients that read it and for
// CouchDBs that replicate it.
//
//go:embed userdesign.js
var userRules string

// EnsureUserDesign writes _design/_auth into the users' database, as CouchDB does, if there never was one: who deletes
// it, or writes another, is right. All nodes write the same revision.
func EnsureUserDesign(ctx context.Context, db *layer.Database) error {
	_, err := db.Get(ctx, UserDesign, layer.GetOptions{})
	var missing *layer.Error
	if !errors.As(err, &missing) || missing.Kind != layer.NotFound {
		return err
	}
	if missing.Reason == "deleted" {
		return nil
	}
	body, err := json.Marshal(struct {
		Language string `json:"language"`
		Validate string `json:"validate_doc_update"`
	}{"javascript", strings.TrimSpace(userRules)})
	if err != nil {
		return err
	}
	_, err = db.Put(ctx, layer.Edit{ID: UserDesign, Body: body}, layer.WriteOptions{})
	if layer.KindOf(err) == layer.Conflict { // another was faster
		err = nil
	}
	return err
}

// NewValidator returns a Validator that does not run the function of EnsureUserDesign in users' databases, where every
// write has passed CheckUserUpdate: the function could only repeat that, or fail when there is no processor for it.
func NewValidator(v layer.Validator) layer.Validator { return &validator{Validator: v} }

type validator struct {
	layer.Validator
	built atomic.Pointer[string] // the key of the document with that function, once seen
	other atomic.Pointer[string] // that of the last one with another function
}

// Validate implements layer.Validator.
func (v *validator) Validate(ctx context.Context, key string, load func() ([]byte, error), newDoc, oldDoc []byte,
	user *layer.UserCtx, dbName string, security []byte) error {
	if IsUsersDatabase(dbName) && strings.HasPrefix(key, UserDesign+" ") {
		if built, err := v.isBuilt(key, load); built || err != nil {
			return err
		}
	}
	return v.Validator.Validate(ctx, key, load, newDoc, oldDoc, user, dbName, security)
}

func (v *validator) isBuilt(key string, load func() ([]byte, error)) (bool, error) {
	if known := v.built.Load(); known != nil && *known == key {
		return true, nil
	}
	if known := v.other.Load(); known != nil && *known == key {
		return false, nil
	}
	text, err := load()
	if err != nil {
		return false, err
	}
	var doc struct {
		Validate string `json:"validate_doc_update"`
	}
	if err := layer.UnmarshalExact(text, &doc); err != nil {
		return false, err
	}
	if strings.TrimSpace(doc.Validate) == strings.TrimSpace(userRules) {
		v.built.Store(&key)
		return true, nil
	}
	v.other.Store(&key)
	return false, nil
}

package layer

import (
	"context"
	"errors"

	"github.com/divandb/divan/layer/tuple"
)

// Security is the database's _security object as it was stored, `{}` by default.
func (d *Database) Security(ctx context.Context) ([]byte, error) {
	return read(ctx, d, func(t *txn) ([]byte, error) { return t.cfg.security, nil })
}

// SetSecurity stores a JSON object. Invalid if members or admins have wrong shapes.
func (d *Database) SetSecurity(ctx context.Context, object []byte) error {
	if err := validateSecurity(object); err != nil {
		return err
	}
	return d.setConfig(ctx, configSecurity, object)
}

// RevsLimit is how many revisions of a branch are kept: 1 to 4000, default 1000 (R5).
func (d *Database) RevsLimit(ctx context.Context) (int, error) {
	return read(ctx, d, func(t *txn) (int, error) { return t.cfg.revsLimit, nil })
}

// SetRevsLimit applies to later edits; existing histories are stemmed when next written. Invalid unless 1 to 4000.
func (d *Database) SetRevsLimit(ctx context.Context, n int) error {
	if n < 1 || n > maxRevsLimit {
		return errf(Invalid, "bad_request", "`_revs_limit` must be between 1 and %d", maxRevsLimit)
	}
	return d.setConfig(ctx, configRevsLimit, tuple.AppendInt(nil, int64(n)))
}

// setConfig stores one setting and moves the stamp, so that every node sees it from its next transaction on.
func (d *Database) setConfig(ctx context.Context, name string, value []byte) error {
	_, _, err := transact(ctx, d, func(t *txn) (struct{}, error) {
		t.Set(t.close(t.keys.config(t.open(), name)), value)
		t.restamp = true
		return struct{}{}, nil
	})
	return err
}

// validateSecurity checks the shapes of admins and members, with CouchDB's words.
func validateSecurity(object []byte) error {
	members, _, _, _, err := scanObject(object, nil)
	if errors.Is(err, errNotObject) {
		return errf(Invalid, "bad_request", "Request body must be a JSON object")
	}
	if err != nil {
		return errf(Invalid, "bad_request", "%s", err)
	}
	for _, m := range members {
		switch string(object[m.key:m.keyEnd]) {
		case `"admins"`, `"members"`, `"readers"`:
			if err := validateNamesAndRoles(object[m.value:m.end]); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateNamesAndRoles(object []byte) error {
	members, _, _, _, err := scanObject(object, nil)
	if err != nil {
		return errf(Invalid, "bad_request", "admins or members must be a JSON list of strings")
	}
	for _, m := range members {
		switch key := string(object[m.key:m.keyEnd]); key {
		case `"names"`, `"roles"`:
			if !isStringArray(object[m.value:m.end]) {
				return errf(Invalid, "bad_request", "%s must be a JSON list of strings", key[1:len(key)-1])
			}
		}
	}
	return nil
}

// isStringArray takes valid JSON.
func isStringArray(b []byte) bool {
	if b[0] != '[' {
		return false
	}
	s := jsonScanner{b: b, i: 1}
	for s.space(); s.peek() != ']'; s.space() {
		switch s.peek() {
		case '"':
			if _, err := s.str(); err != nil {
				return false
			}
		case ',':
			s.i++
		default:
			return false
		}
	}
	return true
}

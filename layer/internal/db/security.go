package db

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/tuple"
)

// Security returns the database's _security object as stored, `{}` by default.
func (d *Database) Security(ctx context.Context) ([]byte, error) {
	return Read(ctx, d, func(t *Txn) ([]byte, error) { return t.Cfg.Security, nil })
}

// SecuritySet reports whether the _security object has ever been set. Usually it is set when a database is created,
// unless no admin is configured.
func (d *Database) SecuritySet(ctx context.Context) (bool, error) {
	return Read(ctx, d, func(t *Txn) (bool, error) { return t.Cfg.securitySet, nil })
}

// MaxSecurity is the maximum size of a _security object, which is read with every request.
const MaxSecurity = 1 << 20

// SetSecurity stores a _security object. It returns Invalid if members or admins have wrong types.
func (d *Database) SetSecurity(ctx context.Context, object []byte) error {
	if len(object) > MaxSecurity {
		return fault.Errf(fault.TooLarge, "", "A security object has at most %d bytes.", MaxSecurity)
	}
	if _, err := ReadSecurity(object); err != nil {
		return err
	}
	return d.SetConfig(ctx, ConfigSecurity, object)
}

// RevsLimit returns how many revisions of a branch are kept: 1 to 4000, by default 1000 (R5).
func (d *Database) RevsLimit(ctx context.Context) (int, error) {
	return Read(ctx, d, func(t *Txn) (int, error) { return t.Cfg.RevsLimit, nil })
}

// SetRevsLimit sets the limit for later edits. Existing histories are stemmed when they are written next. It returns
// Invalid unless n is between 1 and 4000.
func (d *Database) SetRevsLimit(ctx context.Context, n int) error {
	if n < 1 || n > maxRevsLimit {
		return fault.Errf(fault.Invalid, "bad_request", "`_revs_limit` must be between 1 and %d", maxRevsLimit)
	}
	return d.SetConfig(ctx, ConfigRevsLimit, tuple.AppendInt(nil, int64(n)))
}

// SetConfig stores one setting and changes the stamp, so that every node uses it from its next transaction on.
func (d *Database) SetConfig(ctx context.Context, name string, value []byte) error {
	_, _, err := Transact(ctx, d, func(t *Txn) (struct{}, error) {
		t.Set(t.Close(t.Keys.Config(t.Open(), name)), value)
		t.Restamp = true
		return struct{}{}, nil
	})
	return err
}

// AdminRole is the role of server admins.
const AdminRole = "_admin"

// Security is a decoded _security object: who may use a database. HTTP and SQL both use it.
type Security struct {
	admins, members group
	// closed reports that the object could not be decoded, so that only server admins have access. Only old versions
	// stored such objects.
	closed bool
}

// group is the names and roles in a _security object's admins or members.
type group struct{ names, roles []string }

// ParseSecurity decodes a stored _security object. As in CouchDB, member names are case-sensitive and the last of
// duplicate members counts. An object that cannot be decoded denies access to all but server admins.
func ParseSecurity(object []byte) Security {
	s, err := ReadSecurity(object)
	if err != nil {
		return Security{closed: true}
	}
	return s
}

// ReadSecurity checks the types of admins and members, with CouchDB's messages.
func ReadSecurity(object []byte) (s Security, err error) {
	members, err := jsontext.ExactMembers(object, "admins", "members", "readers")
	if errors.Is(err, jsontext.ErrNotObject) {
		return s, fault.Errf(fault.Invalid, "bad_request", "Request body must be a JSON object")
	}
	if err != nil {
		return s, fault.Errf(fault.Invalid, "bad_request", "%s", err)
	}
	if s.admins, err = readGroup(members[0]); err != nil {
		return s, err
	}
	of := members[1]
	if of == nil {
		of = members[2] // the name of members before CouchDB 1.2
	}
	s.members, err = readGroup(of)
	return s, err
}

// readGroup decodes admins or members; nil means absent.
func readGroup(object []byte) (g group, err error) {
	if object == nil {
		return g, nil
	}
	lists := []struct {
		name string
		to   *[]string
	}{{"names", &g.names}, {"roles", &g.roles}}
	members, err := jsontext.ExactMembers(object, lists[0].name, lists[1].name)
	if err != nil {
		return g, fault.Errf(fault.Invalid, "bad_request", "admins or members must be a JSON list of strings")
	}
	for i, list := range lists {
		if text := members[i]; text != nil && (!isStringArray(text) || json.Unmarshal(text, list.to) != nil) {
			return g, fault.Errf(fault.Invalid, "bad_request", "%s must be a JSON list of strings", list.name)
		}
	}
	return g, nil
}

func (g *group) includes(u UserCtx) bool {
	return u.Name != "" && slices.Contains(g.names, u.Name) ||
		slices.ContainsFunc(u.Roles, func(role string) bool { return slices.Contains(g.roles, role) })
}

// IsAdmin reports whether u is an admin of the database: a server admin, or listed as an admin.
func (s *Security) IsAdmin(u UserCtx) bool {
	return slices.Contains(u.Roles, AdminRole) || s.admins.includes(u)
}

// IsMember reports whether u may read the database, which all its admins and members may, and everybody if no members
// are listed.
func (s *Security) IsMember(u UserCtx) bool {
	return s.IsPublic() || s.IsAdmin(u) || s.members.includes(u)
}

// IsPublic reports whether everybody may read the database.
func (s *Security) IsPublic() bool {
	return !s.closed && len(s.members.names)+len(s.members.roles) == 0
}

// isStringArray reports whether b, which is valid JSON, is an array of strings.
func isStringArray(b []byte) bool {
	if b[0] != '[' {
		return false
	}
	s := jsontext.Scanner{Text: b}
	return s.Container('[', 1, func([]byte, bool) bool {
		_, _, ok := s.Quoted()
		return ok
	})
}

// UserCtx is the user, as seen by validate functions and security checks.
type UserCtx struct {
	Name  string // empty if anonymous
	Roles []string
}

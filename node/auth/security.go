package auth

import (
	"encoding/json"
	"slices"

	"github.com/divandb/divan/layer"
)

// Security is a database's _security object.
type Security struct {
	Admins  Group `json:"admins"`
	Members Group `json:"members"`
	Readers Group `json:"readers"` // what Members was called before CouchDB 1.2
}

// Group is the names and roles that a Security object lists for admins or members.
type Group struct {
	Names []string `json:"names"`
	Roles []string `json:"roles"`
}

// ParseSecurity reads a stored object, which the layer has checked.
func ParseSecurity(object []byte) (Security, error) {
	var s Security
	if err := json.Unmarshal(object, &s); err != nil {
		return Security{}, err
	}
	if s.Members.empty() {
		s.Members = s.Readers
	}
	return s, nil
}

func (g Group) empty() bool { return len(g.Names)+len(g.Roles) == 0 }

func (g Group) includes(u layer.UserCtx) bool {
	return (u.Name != "" && slices.Contains(g.Names, u.Name)) ||
		slices.ContainsFunc(u.Roles, func(role string) bool { return slices.Contains(g.Roles, role) })
}

// IsAdmin reports whether u administers the database: server admins do, and those the object names.
func (s Security) IsAdmin(u layer.UserCtx) bool {
	return slices.Contains(u.Roles, AdminRole) || s.Admins.includes(u)
}

// IsMember reports whether u may read the database: its admins may, its members, and everybody where there are none.
func (s Security) IsMember(u layer.UserCtx) bool {
	return s.Members.empty() || s.IsAdmin(u) || s.Members.includes(u)
}

package call

import (
	"slices"

	"github.com/divandb/divan/layer"
)

// User is who sent a request. The zero User is anonymous without roles. With no admin configured ("admin party"), the
// anonymous user has the role _admin.
type User struct {
	Name    string
	Roles   []string
	Handler string // how the user was authenticated: "cookie", "default" (basic); empty for anonymous
	// Own is set in a request that the node sends to itself for a replication.
	Own bool
	// Moves is set in a request that the node sends to itself to move documents here from another server. They are not
	// validated again: the functions of design documents would see an admin as their author.
	Moves bool
}

// IsAdmin reports whether the user is a server admin.
func (u User) IsAdmin() bool { return slices.Contains(u.Roles, layer.AdminRole) }

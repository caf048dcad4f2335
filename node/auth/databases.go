package auth

import "strings"

// UsersDatabase is the database of user documents, and ReplicatorDatabase that of replications.
const (
	UsersDatabase      = "_users"
	ReplicatorDatabase = "_replicator"
)

// IsUsersDatabase reports whether a database has user documents, whose passwords are hashed and which only their users
// and admins may read: _users, and x/_users, as with CouchDB's users_db_suffix.
func IsUsersDatabase(database string) bool {
	return database == UsersDatabase || strings.HasSuffix(database, "/"+UsersDatabase)
}

// ForServerAdmins reports whether only server admins may use a database, whatever its _security object says. HTTP and
// SQL both ask it.
func ForServerAdmins(database string) bool {
	return strings.HasPrefix(database, "_") && !ListedForServerAdmins(database)
}

// ListedForServerAdmins reports whether only server admins may read a database as a whole, while others may read single
// documents over HTTP, as the rules of that database allow.
func ListedForServerAdmins(database string) bool {
	return IsUsersDatabase(database) || database == ReplicatorDatabase ||
		strings.HasSuffix(database, "/"+ReplicatorDatabase)
}

package auth

import "strings"

// UsersDatabase is the database of user documents, ReplicatorDatabase that of replications.
const (
	UsersDatabase      = "_users"
	ReplicatorDatabase = "_replicator"
)

// ForServerAdmins reports whether only server admins may use a database, whatever its _security object says. HTTP and
// SQL both ask it.
func ForServerAdmins(database string) bool {
	return strings.HasPrefix(database, "_") && !ListedForServerAdmins(database)
}

// ListedForServerAdmins reports whether only server admins may read a database as a whole, while others may read single
// documents over HTTP, as the rules of that database allow.
func ListedForServerAdmins(database string) bool {
	return database == UsersDatabase || database == ReplicatorDatabase ||
		strings.HasSuffix(database, "/"+ReplicatorDatabase)
}

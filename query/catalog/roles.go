package catalog

import (
	"slices"

	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/types"
)

// Role is a row of pg_roles.
type Role struct {
	OID   int64
	Name  string
	Super bool
	// predefined is set for the roles that every PostgreSQL has. Nobody can log in as one of them.
	predefined bool
}

// predefinedRoles are those of PostgreSQL 15, with their OIDs. Tools ask whether the user is a member of them, which
// only admins are.
var predefinedRoles = []Role{
	{3373, "pg_monitor", false, true}, {3374, "pg_read_all_settings", false, true},
	{3375, "pg_read_all_stats", false, true}, {3377, "pg_stat_scan_tables", false, true},
	{4200, "pg_signal_backend", false, true}, {4544, "pg_checkpoint", false, true},
	{4569, "pg_read_server_files", false, true}, {4570, "pg_write_server_files", false, true},
	{4571, "pg_execute_server_program", false, true}, {6171, "pg_database_owner", false, true},
	{6181, "pg_read_all_data", false, true}, {6182, "pg_write_all_data", false, true},
}

const oidMonitor = 3373

// IsRole reports whether there is a role of a name besides the users.
func IsRole(name string) bool {
	return name == "divan" || slices.ContainsFunc(predefinedRoles, func(r Role) bool { return r.Name == name })
}

// monitorMemberOf are the roles that pg_monitor is a member of.
var monitorMemberOf = []int64{3374, 3375, 3377}

func init() {
	for _, name := range []string{"pg_authid", "pg_roles"} {
		fillers["pg_catalog."+name] = func(s *Snapshot, b *rows) {
			for _, r := range s.Roles {
				row := v{"oid": r.OID, "rolname": r.Name, "rolsuper": r.Super, "rolinherit": true,
					"rolcreaterole": r.Super, "rolcreatedb": r.Super, "rolcanlogin": !r.predefined,
					"rolreplication": false, "rolbypassrls": r.Super, "rolconnlimit": -1}
				if name == "pg_roles" {
					row["rolpassword"] = "********"
				}
				b.add(row)
			}
		}
	}
	for _, name := range []string{"pg_user", "pg_shadow"} {
		fillers["pg_catalog."+name] = func(s *Snapshot, b *rows) {
			for _, r := range s.Roles {
				if r.predefined {
					continue
				}
				row := v{"usename": r.Name, "usesysid": r.OID, "usesuper": r.Super, "usecreatedb": r.Super,
					"userepl": false, "usebypassrls": r.Super}
				if name == "pg_user" {
					row["passwd"] = "********"
				}
				b.add(row)
			}
		}
	}
	fillers["pg_catalog.pg_group"] = func(s *Snapshot, b *rows) {
		for _, r := range s.Roles {
			if !r.predefined {
				continue
			}
			var members []types.Datum
			if slices.Contains(monitorMemberOf, r.OID) {
				members = append(members, types.NewInt(oidMonitor))
			}
			b.add(v{"groname": r.Name, "grosysid": r.OID, "grolist": types.NewArray(types.Oid, members)})
		}
	}
	fillers["pg_catalog.pg_auth_members"] = func(_ *Snapshot, b *rows) {
		for _, role := range monitorMemberOf {
			b.add(v{"roleid": role, "member": oidMonitor, "grantor": oidOwner, "admin_option": false})
		}
	}
	fillers["information_schema.enabled_roles"] = func(s *Snapshot, b *rows) {
		for _, r := range s.Roles {
			if isMember(s, userOID(s), r.OID) {
				b.add(v{"role_name": r.Name})
			}
		}
	}
	fillers["information_schema.applicable_roles"] = func(s *Snapshot, b *rows) {
		for _, oid := range monitorMemberOf {
			if name, ok := s.role(oid); ok && isMember(s, userOID(s), oidMonitor) {
				b.add(v{"grantee": "pg_monitor", "role_name": name, "is_grantable": false})
			}
		}
	}
}

// userOID returns the OID of the session's user.
func userOID(s *Snapshot) int64 { return roleOID(s, s.User) }

// roleOID returns the OID of a role, or 0.
func roleOID(s *Snapshot, name string) int64 {
	for _, r := range s.Roles {
		if r.Name == name {
			return r.OID
		}
	}
	return 0
}

// isMember reports whether a role has the privileges of another.
func isMember(s *Snapshot, oid, of int64) bool {
	if oid == of || oid == oidMonitor && slices.Contains(monitorMemberOf, of) {
		return true
	}
	return slices.ContainsFunc(s.Roles, func(r Role) bool { return r.OID == oid && r.Super })
}

// mustBeRole returns an error for the name of a role that does not exist. everyone permits the word public.
func mustBeRole(s *Snapshot, role types.Datum, everyone bool) error {
	if role.K != types.KText || everyone && role.S == "public" || roleOID(s, role.S) != 0 {
		return nil
	}
	return sqlstate.New(sqlstate.UndefinedObject, `role "%s" does not exist`, role.S)
}

// hasRole implements pg_has_role(user, role, privilege) and pg_has_role(role, privilege).
func hasRole(s *Snapshot, a []types.Datum) (types.Datum, error) {
	user, role := userOID(s), a[len(a)-2]
	oid := func(r types.Datum) (int64, error) {
		if r.K == types.KText {
			return roleOID(s, r.S), mustBeRole(s, r, false)
		}
		return r.I, nil
	}
	var err error
	if len(a) == 3 {
		if user, err = oid(a[0]); err != nil {
			return types.Null, err
		}
	}
	of, err := oid(role)
	if err != nil {
		return types.Null, err
	}
	if _, err := parsePrivileges(a[len(a)-1].S, []string{"USAGE", "MEMBER"}, "ADMIN"); err != nil {
		return types.Null, err
	}
	return types.NewBool(isMember(s, user, of)), nil
}

package catalog

import (
	"github.com/divandb/divan/query/types"
)

// The views of information_schema about privileges. Everything that can be done is granted to PUBLIC by the role that
// owns everything, which has these privileges too. As in PostgreSQL, a view with the prefix role_ has only the
// privileges that a role of the user has granted or holds, and the others also those of PUBLIC.
func init() {
	fillers["information_schema.table_privileges"] = func(s *Snapshot, b *rows) {
		tableGrants(s, b, grantees(s, true))
	}
	fillers["information_schema.role_table_grants"] = func(s *Snapshot, b *rows) {
		tableGrants(s, b, grantees(s, false))
	}
	fillers["information_schema.column_privileges"] = func(s *Snapshot, b *rows) {
		columnGrants(s, b, grantees(s, true))
	}
	fillers["information_schema.role_column_grants"] = func(s *Snapshot, b *rows) {
		columnGrants(s, b, grantees(s, false))
	}
	fillers["information_schema.usage_privileges"] = func(s *Snapshot, b *rows) {
		usageGrants(s, b, grantees(s, true))
	}
	fillers["information_schema.role_usage_grants"] = func(s *Snapshot, b *rows) {
		usageGrants(s, b, grantees(s, false))
	}
	fillers["information_schema.routine_privileges"] = func(s *Snapshot, b *rows) {
		routineGrants(s, b, grantees(s, true))
	}
	fillers["information_schema.role_routine_grants"] = func(s *Snapshot, b *rows) {
		routineGrants(s, b, grantees(s, false))
	}
	fillers["information_schema.udt_privileges"] = func(s *Snapshot, b *rows) {
		typeGrants(s, b, grantees(s, true))
	}
	fillers["information_schema.role_udt_grants"] = func(s *Snapshot, b *rows) {
		typeGrants(s, b, grantees(s, false))
	}
}

// grantees returns the roles whose privileges a view shows to the user.
func grantees(s *Snapshot, public bool) []string {
	if isMember(s, userOID(s), oidOwner) {
		return []string{ownerName, "PUBLIC"}
	}
	if public {
		return []string{"PUBLIC"}
	}
	return nil
}

// grants adds a row for each grantee and privilege. Only the owner could grant a privilege.
func grants(b *rows, to, privileges []string, object v) {
	for _, who := range to {
		for _, p := range privileges {
			row := v{"grantor": ownerName, "grantee": who, "privilege_type": p, "is_grantable": who == ownerName}
			for name, val := range object {
				row[name] = val
			}
			if _, has := b.rel.index["with_hierarchy"]; has {
				row["with_hierarchy"] = p == "SELECT"
			}
			b.add(row)
		}
	}
}

// usable returns those of the privileges that connected users have on a relation.
func usable(s *Snapshot, c *Class, privileges ...string) []string {
	var out []string
	for _, p := range privileges {
		if holdsOnTable(s, c.OID, p) {
			out = append(out, p)
		}
	}
	return out
}

func tableGrants(s *Snapshot, b *rows, to []string) {
	for _, c := range s.Classes {
		if c.Kind != "i" {
			grants(b, to, usable(s, c, "SELECT", "INSERT", "UPDATE", "DELETE"),
				v{"table_catalog": s.Database, "table_schema": c.Schema.Name, "table_name": c.Name})
		}
	}
}

func columnGrants(s *Snapshot, b *rows, to []string) {
	for _, c := range s.Classes {
		if c.Kind == "i" {
			continue
		}
		for _, a := range c.Columns {
			grants(b, to, usable(s, c, "SELECT", "INSERT", "UPDATE"), v{"table_catalog": s.Database,
				"table_schema": c.Schema.Name, "table_name": c.Name, "column_name": a.Name})
		}
	}
}

// usageGrants has the collations, as there are no domains, sequences and servers.
func usageGrants(s *Snapshot, b *rows, to []string) {
	for _, who := range to {
		if who != "PUBLIC" {
			continue // PostgreSQL shows collations as granted to PUBLIC only
		}
		for _, c := range types.Collations() {
			grants(b, []string{who}, []string{"USAGE"}, v{"object_catalog": s.Database,
				"object_schema": "pg_catalog", "object_name": c.Name, "object_type": "COLLATION"})
		}
	}
}

func routineGrants(s *Snapshot, b *rows, to []string) {
	all, _ := procs()
	for _, p := range all {
		grants(b, to, []string{"EXECUTE"}, v{
			"specific_catalog": s.Database, "specific_schema": "pg_catalog", "specific_name": specificName(&p),
			"routine_catalog": s.Database, "routine_schema": "pg_catalog", "routine_name": p.name})
	}
}

// typeGrants has the row types of relations, the only types that PostgreSQL shows here.
func typeGrants(s *Snapshot, b *rows, to []string) {
	for _, c := range s.Classes {
		if !c.builtin && c.Kind != "i" {
			grants(b, to, []string{"TYPE USAGE"}, v{"udt_catalog": s.Database, "udt_schema": c.Schema.Name,
				"udt_name": c.Name})
		}
	}
}

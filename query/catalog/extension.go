package catalog

// Schema divan belongs to a built-in extension, so that pg_dump leaves it out: it describes the node and not the
// database.

const (
	oidExtension    = 13400 // below the OIDs of functions and, like those of all built-in objects, below firstOID
	classNamespace  = 2615
	classExtension  = 3079
	classConstraint = 2606
)

func init() {
	fillers["pg_catalog.pg_extension"] = func(s *Snapshot, b *rows) {
		b.add(v{"oid": oidExtension, "extname": "divan", "extowner": oidOwner, "extnamespace": oidPgCatalog,
			"extversion": "1.0"})
	}
	fillers["pg_catalog.pg_depend"] = func(s *Snapshot, b *rows) {
		member := func(class int, oid int64) {
			b.add(v{"classid": class, "objid": oid, "refclassid": classExtension, "refobjid": oidExtension,
				"deptype": "e"})
		}
		n := s.schemaByName["divan"]
		member(classNamespace, n.OID)
		for _, c := range s.Classes {
			if c.Schema == n {
				member(classPgClass, c.OID)
			}
		}
		// The index of a primary key belongs to the constraint, so that tools do not show it as another one.
		for _, k := range s.Keys {
			b.add(v{"classid": classPgClass, "objid": k.Index, "refclassid": classConstraint, "refobjid": k.Constraint,
				"deptype": "i"})
			b.add(v{"classid": classConstraint, "objid": k.Constraint, "refclassid": classPgClass,
				"refobjid": k.Table.OID, "refobjsubid": k.Column, "deptype": "a"})
		}
	}
}

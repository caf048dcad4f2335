package catalog

import (
	"github.com/divandb/divan/query/types"
)

// The core of pg_catalog: namespaces, relations, columns, types, databases, roles.
func init() {
	fillers["pg_catalog.pg_namespace"] = func(s *Snapshot, b *rows) {
		for _, n := range s.Schemas {
			row := v{"oid": n.OID, "nspname": n.Name, "nspowner": n.Owner}
			if n.OID == oidPublic {
				// The privileges of schema public in a new PostgreSQL database. pg_dump writes down differences from
				// them.
				row["nspacl"] = []string{ownerName + "=UC/" + ownerName, "=U/" + ownerName}
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_class"] = func(s *Snapshot, b *rows) {
		tuples, err := b.tuples()
		if err != nil {
			b.err = err
			return
		}
		for _, c := range s.Classes {
			am, identity, row := 0, "n", int64(0)
			if !c.builtin && c.Kind != "i" {
				row = rowType(c)
			}
			switch {
			case c.Kind == "r":
				am = oidHeap
				if !c.builtin {
					identity = "d" // the primary key
				}
			case c.Kind == "i":
				am = oidBtree
			}
			b.add(v{"oid": c.OID, "relname": c.Name, "relnamespace": c.Schema.OID, "relowner": oidOwner,
				"relkind": c.Kind, "relam": am,
				"relpersistence": "p", "relnatts": len(c.Columns), "relreplident": identity, "relispopulated": true,
				"reltype": row, "reltuples": tuples(c),
				"relhasrules": c.Kind == "v", "relfilenode": filenode(c), "relhasindex": c.Key != nil})
		}
	}
	fillers["pg_catalog.pg_attribute"] = func(s *Snapshot, b *rows) {
		for _, c := range s.Classes {
			for i, a := range c.Columns {
				t := types.Lookup(a.Type)
				b.add(v{"attrelid": c.OID, "attname": a.Name, "atttypid": a.Type, "attlen": int(t.Len), "attnum": i + 1,
					"atttypmod": int(a.Mod),
					"attbyval":  t.ByVal, "attalign": string(align(t)), "attstorage": storage(t),
					"attnotnull": a.NotNull, "attislocal": true,
					"attcacheoff": -1, "attstattarget": -1, "attcollation": collation(a.Type)})
			}
		}
	}
	fillers["pg_catalog.pg_type"] = typeRows
	fillers["pg_catalog.pg_database"] = func(s *Snapshot, b *rows) {
		for _, d := range s.DBs {
			b.add(v{"oid": d.OID, "datname": d.Name, "datdba": oidOwner, "encoding": 6, "datlocprovider": "c",
				"datallowconn": true, "datistemplate": d.Template,
				"datconnlimit": -1, "datcollate": "C", "datctype": "C.UTF-8", "dattablespace": oidDefaultSpace})
		}
	}
	fillers["pg_catalog.pg_am"] = func(_ *Snapshot, b *rows) {
		b.add(v{"oid": oidHeap, "amname": "heap", "amtype": "t"})
		b.add(v{"oid": oidBtree, "amname": "btree", "amtype": "i"})
	}
	fillers["pg_catalog.pg_tablespace"] = func(_ *Snapshot, b *rows) {
		b.add(v{"oid": oidDefaultSpace, "spcname": "pg_default", "spcowner": oidOwner})
		b.add(v{"oid": oidGlobalSpace, "spcname": "pg_global", "spcowner": oidOwner})
	}
	fillers["pg_catalog.pg_collation"] = func(_ *Snapshot, b *rows) {
		for _, c := range types.Collations() {
			row := v{"oid": c.OID, "collname": c.Name, "collnamespace": oidPgCatalog, "collowner": oidOwner,
				"collisdeterministic": true,
				"collencoding":        -1}
			switch {
			case c.Locale != "":
				row["collprovider"], row["colliculocale"] = "i", c.Locale
			case c.Name == "default":
				row["collprovider"] = "d"
			case c.Name == "ucs_basic":
				row["collprovider"], row["collcollate"], row["collctype"], row["collencoding"] = "c", "C", "C", 6
			default:
				row["collprovider"], row["collcollate"], row["collctype"] = "c", c.Name, c.Name
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_language"] = func(_ *Snapshot, b *rows) {
		b.add(v{"oid": oidInternal, "lanname": "internal", "lanowner": oidOwner})
		b.add(v{"oid": oidSQL, "lanname": "sql", "lanowner": oidOwner, "lanpltrusted": true})
	}
	fillers["pg_catalog.pg_description"] = func(s *Snapshot, b *rows) {
		for _, c := range s.Classes {
			if c.Comment != "" {
				b.add(v{"objoid": c.OID, "classoid": classPgClass, "objsubid": 0, "description": c.Comment})
			}
			for i, a := range c.Columns {
				if a.Comment != "" {
					b.add(v{"objoid": c.OID, "classoid": classPgClass, "objsubid": i + 1, "description": a.Comment})
				}
			}
		}
		for _, n := range s.Schemas {
			if n.Comment != "" {
				b.add(v{"objoid": n.OID, "classoid": 2615, "objsubid": 0, "description": n.Comment})
			}
		}
	}
}

// filenode is 0 for views, which have no storage.
func filenode(c *Class) int64 {
	if c.Kind != "v" {
		return c.OID
	}
	return 0
}

func align(t *types.Info) byte {
	if t.Align == 0 {
		return 'i'
	}
	return t.Align
}

func storage(t *types.Info) string {
	switch {
	case t.OID == types.Numeric:
		return "m"
	case t.Len == -1 && t.OID != types.Int2Vector && t.OID != types.OidVector:
		return "x"
	}
	return "p"
}

// collation returns the default collation of types that have one. Names always use C.
func collation(t types.OID) int {
	switch t {
	case types.Text, types.VarChar, types.BPChar, types.TextArray, types.VarCharArray, types.BPCharArray,
		types.PgNodeTree:
		return 100
	case types.Name, types.NameArray:
		return 950
	}
	return 0
}

func typeRows(s *Snapshot, b *rows) {
	for _, t := range types.All() {
		typtype := "b"
		if t.Category == 'P' || t.OID == types.Unknown || t.OID == types.RecordArray {
			typtype = "p"
		}
		category, elem := t.Category, t.Elem
		switch t.OID {
		case types.RecordArray:
			category = 'P'
		case types.Name:
			elem = types.Char // in PostgreSQL, name is an array of 64 char
		}
		p := typeProcs(&t)
		b.add(v{"oid": t.OID, "typname": t.Name, "typnamespace": oidPgCatalog, "typowner": oidOwner,
			"typlen": int(t.Len), "typbyval": t.ByVal,
			"typtype": typtype, "typcategory": string(category), "typispreferred": t.Prefer, "typisdefined": true,
			"typdelim": ",",
			"typelem":  elem, "typarray": t.Array, "typalign": string(align(&t)), "typstorage": storage(&t),
			"typtypmod":    -1,
			"typcollation": collation(t.OID), "typinput": p[0], "typoutput": p[1], "typreceive": p[2], "typsend": p[3]})
	}
	for _, c := range s.Classes {
		if !c.builtin && c.Kind != "i" {
			// The row type of every relation.
			b.add(v{"oid": rowType(c), "typname": c.Name, "typnamespace": c.Schema.OID, "typowner": oidOwner,
				"typlen": -1, "typtype": "c",
				"typcategory": "C", "typisdefined": true, "typdelim": ",", "typrelid": c.OID, "typalign": "d",
				"typstorage": "x", "typtypmod": -1})
		}
	}
}

// rowType returns the OID of the type of a relation's rows: the relation's OID with the highest bit set, which the
// assigner never sets.
func rowType(c *Class) int64 { return c.OID | 0x80000000 }

package catalog

import (
	"fmt"
	"net"
	"strconv"

	"github.com/divandb/divan/query/types"
)

// The views of pg_catalog that people and monitoring tools read.
func init() {
	fillers["pg_catalog.pg_settings"] = func(s *Snapshot, b *rows) {
		for _, x := range now(s.Settings) {
			row := v{"name": x.Name, "setting": x.Value, "category": "Divan", "short_desc": x.Comment,
				"context": x.Context,
				"vartype": x.Type, "source": "default", "boot_val": x.Default, "reset_val": x.Initial,
				"pending_restart": false}
			switch {
			case x.Value != x.Initial:
				row["source"] = "session"
			case x.Initial != x.Default:
				row["source"] = "client"
			}
			for name, text := range map[string]string{"unit": x.Unit, "min_val": x.Low, "max_val": x.High} {
				if text != "" {
					row[name] = text
				}
			}
			if x.Values != nil {
				row["enumvals"] = x.Values
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_prepared_statements"] = func(s *Snapshot, b *rows) {
		for _, p := range now(s.Prepared) {
			params := make([]types.Datum, len(p.Parameters))
			for i, oid := range p.Parameters {
				params[i] = types.NewInt(int64(oid))
				params[i].S, _ = s.Name(types.RegType, int64(oid))
			}
			b.add(v{"name": p.Name, "statement": p.Text, "prepare_time": types.UnixMoment(p.At),
				"parameter_types": types.NewArray(types.RegType, params), "from_sql": p.FromSQL,
				"generic_plans": p.Generic, "custom_plans": p.Custom})
		}
	}
	fillers["pg_catalog.pg_cursors"] = func(s *Snapshot, b *rows) {
		for _, c := range now(s.Cursors) {
			b.add(v{"name": c.Name, "statement": c.Text, "is_holdable": c.Hold, "is_binary": c.Binary,
				"is_scrollable": c.Scroll,
				"creation_time": types.UnixMoment(c.At)})
		}
	}
	fillers["pg_catalog.pg_locks"] = func(s *Snapshot, b *rows) {
		for _, l := range now(s.Locks) {
			row := v{"locktype": "advisory", "database": s.databaseOID(l.Database),
				"classid": l.Number >> 32 & 0xffffffff, "objid": l.Number & 0xffffffff, "objsubid": 1,
				"virtualtransaction": fmt.Sprintf("%d/1", l.PID),
				"pid":                l.PID, "mode": "ExclusiveLock", "granted": l.Granted, "fastpath": false}
			if l.Pair {
				row["objsubid"] = 2
			}
			if l.Shared {
				row["mode"] = "ShareLock"
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_tables"] = func(s *Snapshot, b *rows) {
		s.each("r", func(c *Class) {
			b.add(v{"schemaname": c.Schema.Name, "tablename": c.Name, "tableowner": ownerName, "hasindexes": false,
				"hasrules":    false,
				"hastriggers": false, "rowsecurity": false})
		})
	}
	fillers["pg_catalog.pg_views"] = func(s *Snapshot, b *rows) {
		s.each("v", func(c *Class) {
			b.add(v{"schemaname": c.Schema.Name, "viewname": c.Name, "viewowner": ownerName,
				"definition": c.Definition})
		})
	}
	for _, name := range []string{"pg_stat_user_tables", "pg_stat_all_tables"} {
		fillers["pg_catalog."+name] = func(s *Snapshot, b *rows) {
			tuples, err := b.tuples()
			if err != nil {
				b.err = err
				return
			}
			s.each("r", func(c *Class) {
				if !c.builtin || name == "pg_stat_all_tables" {
					row := v{"relid": c.OID, "schemaname": c.Schema.Name, "relname": c.Name}
					if n := tuples(c); n >= 0 {
						row["n_live_tup"] = n
					}
					b.add(row)
				}
			})
		}
	}
	fillers["pg_catalog.pg_stat_activity"] = func(s *Snapshot, b *rows) {
		for _, a := range s.Sessions {
			if a.Hidden {
				// As in PostgreSQL, except that the name of a database that the user may not see is left out too.
				row := v{"pid": a.PID, "usename": a.User, "application_name": a.Application,
					"query": "<insufficient privilege>"}
				if oid := s.databaseOID(a.Database); oid != 0 {
					row["datid"], row["datname"] = oid, a.Database
				}
				b.add(row)
				continue
			}
			row := v{"datid": s.databaseOID(a.Database), "datname": a.Database, "pid": a.PID, "usename": a.User,
				"application_name": a.Application,
				"backend_start":    types.UnixMoment(a.Since),
				"state":            a.State, "query": a.Statement, "backend_type": "client backend"}
			if host, port, err := net.SplitHostPort(a.Client); err == nil {
				row["client_addr"] = host
				if n, err := strconv.Atoi(port); err == nil {
					row["client_port"] = n
				}
			}
			if a.StatementSince != 0 {
				row["query_start"] = types.UnixMoment(a.StatementSince)
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_stat_ssl"] = func(s *Snapshot, b *rows) {
		for _, a := range s.Sessions {
			row := v{"pid": a.PID}
			if !a.Hidden {
				row["ssl"] = a.TLS
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_stat_gssapi"] = func(s *Snapshot, b *rows) {
		for _, a := range s.Sessions {
			row := v{"pid": a.PID}
			if !a.Hidden {
				row["gss_authenticated"], row["encrypted"] = false, false
			}
			b.add(row)
		}
	}
	fillers["pg_catalog.pg_stat_database"] = func(s *Snapshot, b *rows) {
		for _, d := range s.DBs {
			n := 0
			for _, a := range s.Sessions {
				if a.Database == d.Name {
					n++
				}
			}
			b.add(v{"datid": d.OID, "datname": d.Name, "numbackends": n})
		}
	}
	informationSchema()
}

// each calls f for the relations of a kind.
func (s *Snapshot) each(kind string, f func(*Class)) {
	for _, c := range s.Classes {
		if c.Kind == kind {
			f(c)
		}
	}
}

func informationSchema() {
	fillers["information_schema.schemata"] = func(s *Snapshot, b *rows) {
		for _, n := range s.Schemas {
			b.add(v{"catalog_name": s.Database, "schema_name": n.Name, "schema_owner": ownerName})
		}
	}
	fillers["information_schema.information_schema_catalog_name"] = func(s *Snapshot, b *rows) {
		b.add(v{"catalog_name": s.Database})
	}
	fillers["information_schema.tables"] = func(s *Snapshot, b *rows) {
		for _, c := range s.Classes {
			kind := "BASE TABLE"
			switch c.Kind {
			case "v":
				kind = "VIEW"
			case "i":
				continue
			}
			b.add(v{"table_catalog": s.Database, "table_schema": c.Schema.Name, "table_name": c.Name,
				"table_type":         kind,
				"is_insertable_into": isDocs(c), "is_typed": false})
		}
	}
	fillers["information_schema.views"] = func(s *Snapshot, b *rows) {
		s.each("v", func(c *Class) {
			b.add(v{"table_catalog": s.Database, "table_schema": c.Schema.Name, "table_name": c.Name,
				"view_definition": c.Definition,
				"check_option":    "NONE", "is_updatable": false, "is_insertable_into": false,
				"is_trigger_updatable": false,
				"is_trigger_deletable": false, "is_trigger_insertable_into": false})
		})
	}
	fillers["information_schema.columns"] = func(s *Snapshot, b *rows) {
		for _, c := range s.Classes {
			if c.Kind == "i" {
				continue
			}
			for i, a := range c.Columns {
				b.add(columnRow(s, c, i, a))
			}
		}
	}
	fillers["information_schema.character_sets"] = func(s *Snapshot, b *rows) {
		b.add(v{"character_set_name": "UTF8", "character_repertoire": "UCS", "form_of_use": "UTF8",
			"default_collate_catalog": s.Database,
			"default_collate_schema":  "pg_catalog", "default_collate_name": "C"})
	}
}

func columnRow(s *Snapshot, c *Class, i int, a Attribute) v {
	row := v{"table_catalog": s.Database, "table_schema": c.Schema.Name, "table_name": c.Name, "column_name": a.Name,
		"ordinal_position": i + 1, "is_nullable": !a.NotNull, "data_type": dataType(a.Type),
		"udt_catalog": s.Database, "udt_schema": "pg_catalog", "udt_name": types.Lookup(a.Type).Name,
		"dtd_identifier": i + 1, "is_self_referencing": false, "is_identity": false, "identity_cycle": false,
		"is_generated": "NEVER", "is_updatable": s.writable(c.OID)}
	typeLimits(row, a)
	return row
}

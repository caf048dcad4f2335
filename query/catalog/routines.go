package catalog

import (
	"fmt"
	"strconv"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/types"
)

// The views of information_schema about functions and collations.
func init() {
	fillers["information_schema.routines"] = func(s *Snapshot, b *rows) {
		all, _ := procs()
		for _, p := range all {
			row := v{"specific_catalog": s.Database, "specific_schema": "pg_catalog", "specific_name": specificName(&p),
				"routine_catalog": s.Database, "routine_schema": "pg_catalog", "routine_name": p.name,
				"type_udt_catalog": s.Database, "type_udt_schema": "pg_catalog",
				"dtd_identifier": 0, "routine_body": "EXTERNAL", "external_language": "INTERNAL",
				"parameter_style": "GENERAL", "is_deterministic": p.volatility == exec.Immutable,
				"sql_data_access": "MODIFIES", "schema_level_routine": true, "max_dynamic_result_sets": 0,
				"security_type": "INVOKER", "as_locator": false, "is_udt_dependent": false,
				"is_null_call": p.strict}
			row["data_type"], row["type_udt_name"] = typeNames(p.ret)
			if p.kind == "f" {
				row["routine_type"] = "FUNCTION"
			}
			b.add(row)
		}
	}
	fillers["information_schema.parameters"] = func(s *Snapshot, b *rows) {
		all, _ := procs()
		for _, p := range all {
			for i, arg := range p.args {
				row := v{"specific_catalog": s.Database, "specific_schema": "pg_catalog",
					"specific_name": specificName(&p), "ordinal_position": i + 1, "parameter_mode": "IN",
					"is_result": false, "as_locator": false, "udt_catalog": s.Database, "udt_schema": "pg_catalog",
					"dtd_identifier": i + 1}
				row["data_type"], row["udt_name"] = typeNames(arg)
				b.add(row)
			}
		}
	}
	fillers["information_schema.collations"] = func(s *Snapshot, b *rows) {
		for _, c := range types.Collations() {
			b.add(v{"collation_catalog": s.Database, "collation_schema": "pg_catalog", "collation_name": c.Name,
				"pad_attribute": "NO PAD"})
		}
	}
	fillers["information_schema.collation_character_set_applicability"] = func(s *Snapshot, b *rows) {
		for _, c := range types.Collations() {
			b.add(v{"collation_catalog": s.Database, "collation_schema": "pg_catalog", "collation_name": c.Name,
				"character_set_name": "UTF8"})
		}
	}
	fillers["information_schema.element_types"] = func(s *Snapshot, b *rows) {
		for _, c := range s.Classes {
			for i, a := range c.Columns {
				if dataType(a.Type) != "ARRAY" || c.Kind == "i" {
					continue
				}
				row := v{"object_catalog": s.Database, "object_schema": c.Schema.Name, "object_name": c.Name,
					"object_type": "TABLE", "collection_type_identifier": i + 1, "udt_catalog": s.Database,
					"udt_schema": "pg_catalog", "dtd_identifier": "a" + strconv.Itoa(i+1)}
				if c.Kind == "v" {
					row["object_type"] = "VIEW"
				}
				row["data_type"], row["udt_name"] = typeNames(types.ElemOf(a.Type))
				b.add(row)
			}
		}
	}
}

// specificName is the name of a function that no other has, made as PostgreSQL makes it.
func specificName(p *proc) string { return fmt.Sprintf("%s_%d", p.name, p.oid) }

// typeNames returns what information_schema calls a type, and its name in pg_type.
func typeNames(t types.OID) (name, udt string) {
	switch t {
	case 0, exec.AnyElement:
		return "anyelement", "anyelement"
	case exec.AnyValue:
		return `"any"`, "any"
	}
	if types.Lookup(t) == nil {
		return types.NameOf(t), types.NameOf(t)
	}
	return dataType(t), types.Lookup(t).Name
}

// dataType is the name of a type in information_schema: all arrays are ARRAY.
func dataType(t types.OID) string {
	info := types.Lookup(t)
	if info.Kind == types.KArray && info.Elem != 0 && t != types.Int2Vector && t != types.OidVector {
		return "ARRAY"
	}
	return info.SQLName
}

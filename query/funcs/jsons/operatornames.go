package jsons

import (
	"slices"

	"github.com/divandb/divan/query/funcs"
	"github.com/divandb/divan/query/types"
)

// operatorNames are the functions behind operators (pg_operator.oprcode). Clients call them whose drivers take the ? of
// an operator for a parameter.
var operatorNames = []struct {
	op, name string
	args     []types.OID
}{
	{"||", "jsonb_concat", []types.OID{types.JSONB, types.JSONB}},
	{"-", "jsonb_delete", []types.OID{types.JSONB, types.Text}},
	{"-", "jsonb_delete", []types.OID{types.JSONB, types.Int4}},
	{"#-", "jsonb_delete_path", []types.OID{types.JSONB, types.TextArray}},
	{"?", "jsonb_exists", []types.OID{types.JSONB, types.Text}},
	{"?|", "jsonb_exists_any", []types.OID{types.JSONB, types.TextArray}},
	{"?&", "jsonb_exists_all", []types.OID{types.JSONB, types.TextArray}},
	{"@>", "jsonb_contains", []types.OID{types.JSONB, types.JSONB}},
	{"<@", "jsonb_contained", []types.OID{types.JSONB, types.JSONB}},
	{"->", "jsonb_object_field", []types.OID{types.JSONB, types.Text}},
	{"->>", "jsonb_object_field_text", []types.OID{types.JSONB, types.Text}},
	{"->", "jsonb_array_element", []types.OID{types.JSONB, types.Int4}},
	{"->>", "jsonb_array_element_text", []types.OID{types.JSONB, types.Int4}},
	{"->", "json_object_field", []types.OID{types.JSON, types.Text}},
	{"->>", "json_object_field_text", []types.OID{types.JSON, types.Text}},
	{"->", "json_array_element", []types.OID{types.JSON, types.Int4}},
	{"->>", "json_array_element_text", []types.OID{types.JSON, types.Int4}},
	{"@?", "jsonb_path_exists_opr", []types.OID{types.JSONB, types.JSONPathType}},
	{"@@", "jsonb_path_match_opr", []types.OID{types.JSONB, types.JSONPathType}},
}

func init() {
	for _, n := range operatorNames {
		for _, f := range funcs.Operators[n.op] {
			if slices.Equal(f.Args, n.args) {
				named := *f
				named.Name = n.name
				funcs.JsonFamily.Add(&named)
			}
		}
	}
}

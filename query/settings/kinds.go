package settings

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/query/catalog"
	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/quantities"
)

// kind describes a setting in pg_settings.
type kind struct {
	vartype   string // bool, int, real or enum; otherwise a text
	unit      string
	low, high string
	values    []string
	context   string // who may change it, and when; "" means everyone
}

// kinds describes the settings defined in this package. A setting whose only value is fixed cannot be changed.
var kinds = func() map[string]*kind {
	kinds := map[string]*kind{
		"archive_mode":    {vartype: "enum", values: []string{"always", "on", "off"}, context: "postmaster"},
		"bytea_output":    {vartype: "enum", values: []string{"escape", "hex"}},
		"max_connections": {vartype: "int", low: "1", high: "262143", context: "postmaster"},
		"client_min_messages": {vartype: "enum",
			values: []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log",
				"notice", "warning", "error"}},
		copying.PartSetting:  {vartype: "int", low: "0", high: "1000000"},
		"extra_float_digits": {vartype: "int", low: "-15", high: "3"},
		"intervalstyle": {vartype: "enum",
			values: []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}},
		"max_prepared_transactions":      {vartype: "int", low: "0", high: "262143", context: "postmaster"},
		"server_version_num":             {vartype: "int", low: serverVersionNumber, high: serverVersionNumber},
		"ssl":                            {vartype: "bool", context: "sighup"},
		"superuser_reserved_connections": {vartype: "int", low: "0", high: "262143", context: "postmaster"},
		ViewKind:                         {vartype: "enum", values: []string{"view", "table"}},
		"divan.update":                   {vartype: "enum", values: []string{"true", "false", "lazy"}},
		"lc_messages":                    {context: "superuser"},
	}
	for _, name := range []string{"debug_assertions", "default_transaction_read_only", exec.IndexesSetting,
		joins.HashJoinSetting,
		joins.IndexScanSetting, joins.MemoizeSetting, joins.NestLoopSetting,
		"escape_string_warning",
		"in_hot_standby", "integer_datetimes", "is_superuser", "row_security", "standard_conforming_strings",
		"transaction_read_only"} {
		kinds[name] = &kind{vartype: "bool"}
	}
	for _, name := range []string{"idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"} {
		kinds[name] = &kind{vartype: "int", unit: "ms", low: "0", high: "2147483647"}
	}
	for name, value := range map[string]string{"block_size": "8192", "max_function_args": "100", "max_index_keys": "32",
		"max_identifier_length": "63"} {
		kinds[name] = &kind{vartype: "int", low: value, high: value}
	}
	for _, name := range []string{"default_transaction_isolation", "transaction_isolation"} {
		kinds[name] = &kind{vartype: "enum",
			values: []string{"serializable", "repeatable read", "read committed", "read uncommitted"}}
	}
	return kinds
}()

// about returns the complete description of a setting.
func (s *setting) about() kind {
	k := s.kind
	if k == nil {
		k = kinds[s.name]
	}
	if k == nil {
		k = &kind{}
	}
	out := *k
	switch out.vartype {
	case "":
		out.vartype = "string"
	case "int":
		out.vartype = "integer"
	case "text":
		out.vartype = "string"
	}
	switch {
	case out.context != "":
	case s.fixed:
		out.context = "internal"
	default:
		out.context = "user"
	}
	return out
}

// inUnit returns a value as in pg_settings: a number without a unit.
func (k kind) inUnit(value string) string {
	if k.unit == "" {
		return value
	}
	n := len(value) - len(strings.TrimLeft(value, "0123456789.-"))
	f, err := strconv.ParseFloat(value[:n], 64)
	units, base := quantities.Quantity{Unit: k.unit}.Units()
	i := slices.IndexFunc(units, func(u quantities.Unit) bool { return u.Name == value[n:] })
	if err != nil || i < 0 {
		return value
	}
	return quantities.Number(f * units[i].N / base)
}

// All returns name, value and description of the settings, by name.
func (v *Values) All() [][3]string {
	var out [][3]string
	for _, name := range v.names() {
		value, _ := v.Get(name)
		row := [3]string{name, value, ""}
		if d := find(name); d != nil {
			row[0], row[2] = d.label(), d.comment
		}
		out = append(out, row)
	}
	return out
}

// planning are the settings that plans depend on, by name.
var planning = []string{exec.PartitionSetting, "divan.update", exec.IndexesSetting, joins.HashJoinSetting,
	joins.IndexScanSetting, joins.MemoizeSetting, joins.NestLoopSetting}

// Planning returns name and value of the settings that plans depend on and that are not their defaults.
func (v *Values) Planning() (out [][2]string) {
	for _, name := range planning {
		if value := v.Value(name); value != find(name).value {
			out = append(out, [2]string{name, value})
		}
	}
	return out
}

// names returns the names of all settings, sorted as displayed.
func (v *Values) names() []string {
	names := maps.Clone(v.value)
	maps.DeleteFunc(names, func(name, _ string) bool { return find(name) == nil })
	for name := range harmless {
		names[name] = ""
	}
	label := func(name string) string {
		if s := find(name); s != nil {
			name = s.label()
		}
		return strings.ToLower(name)
	}
	return slices.SortedFunc(maps.Keys(names), func(a, b string) int { return strings.Compare(label(a), label(b)) })
}

// Described returns the rows of pg_settings.
func (v *Values) Described() []catalog.Setting {
	var out []catalog.Setting
	for _, name := range v.names() {
		value, _ := v.Get(name)
		d := find(name)
		if d == nil {
			d = &setting{name: name}
		}
		k := d.about()
		initial := d.value
		if known := lookup(v.initial, name); known != nil {
			initial = *known
		}
		boot := d.value
		if d.fixed {
			boot = initial
		}
		out = append(out, catalog.Setting{Name: d.label(), Value: k.inUnit(value), Default: k.inUnit(boot),
			Initial: k.inUnit(initial), Comment: d.comment, Type: k.vartype, Unit: k.unit, Low: k.low, High: k.high,
			Context: k.context, Values: k.values})
	}
	return out
}

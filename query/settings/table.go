// Package settings holds the settings of a session: which there are, what their values may be, SET and RESET with
// savepoints and ROLLBACK, and what clients are told of them (PostgreSQL's manual, 20 and SET). Statements that change
// settings, and transactions, are package query's; the settings of the node are in node/config.
package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/charset"
	"github.com/divandb/divan/query/copying"
	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/exec/joins"
	"github.com/divandb/divan/query/plan"
	"github.com/divandb/divan/query/quantities"
	"github.com/divandb/divan/query/sql/keyword"
	"github.com/divandb/divan/query/sqlstate"
	"github.com/divandb/divan/query/zones"
)

// setting is a session variable: its default, and the values it accepts. PostgreSQL's settings without an effect here
// are in postgres_settings.txt.
type setting struct {
	name    string // lower case
	shown   string // the spelling in SHOW ALL and ParameterStatus
	value   string // default
	report  bool   // sent as ParameterStatus
	fixed   bool   // setting or resetting it gives 55P02
	cut     bool   // a name, cut off with a notice as identifiers are
	check   func(v string) (string, error)
	comment string
	kind    *kind // nil: the one in kinds, or a text
}

// Names of settings that other packages ask for.
const (
	// AsOf is the sequence as of which statements read; "" for none.
	AsOf = "divan.as_of_seq"
	// Isolation is the isolation level of the transaction.
	Isolation = "transaction_isolation"
	// ReadOnly tells whether the current transaction may write.
	ReadOnly = "transaction_read_only"
	// ViewKind selects what the catalogue shows views as.
	ViewKind = "divan.view_kind"
)

// The version reported to clients. psql and drivers choose their catalogue statements by it.
const (
	serverVersion       = "15.8 (Divan)"
	serverVersionNumber = "150008"
)

// The name of the setting is added to these errors where it is known.
var (
	errInvalid = quantities.ErrInvalid
	errBoolean = quantities.ErrBoolean
)

// clientEncoding checks the name of a character set and returns PostgreSQL's.
func clientEncoding(v string) (string, error) {
	e, ok := charset.Find(v)
	switch {
	case !ok:
		return "", errInvalid
	case e == nil:
		c := *errInvalid
		c.Code = sqlstate.FeatureNotSupported
		return "", c.WithDetail("Conversion between %s and UTF8 is not supported.", charset.Canonical(v)).
			WithHint("UTF8, the sets of one byte for each character, SJIS, GBK, UHC and EUC_KR are supported.")
	}
	return e.Name(), nil
}

// printable has a question mark for each byte that is no printable character of ASCII, as PostgreSQL's
// application_name.
func printable(v string) (string, error) {
	b := []byte(v)
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b), nil
}

// timeout checks a time in milliseconds or with a unit.
func timeout(name string) func(string) (string, error) {
	return quantities.Quantity{Name: name, High: math.MaxInt32, Unit: "ms", Whole: true}.Check
}

// Duration reads a value that timeout has checked.
func Duration(v string) time.Duration {
	n := len(v) - len(strings.TrimLeft(v, "0123456789"))
	f, _ := strconv.ParseFloat(v[:n], 64)
	i := slices.IndexFunc(quantities.TimeUnits, func(u quantities.Unit) bool { return u.Name == v[n:] })
	if i < 0 {
		return 0 // "0" has no unit
	}
	return time.Duration(f * quantities.TimeUnits[i].N * float64(time.Microsecond))
}

// sequence accepts the sequence of a change, or an empty text.
func sequence(v string) (string, error) {
	if v == "" || plan.IsSequence(v) {
		return v, nil
	}
	return "", errInvalid
}

var isolationLevels = quantities.OneOf("serializable", "repeatable read", "read committed", "read uncommitted")

var table = []setting{
	{name: "archive_mode", value: "off", fixed: true},
	{name: "block_size", value: "8192", fixed: true},
	{name: "debug_assertions", value: "off", fixed: true},
	{name: "max_connections", value: "0", fixed: true, comment: "sql.max_connections of the node"},
	{name: "max_function_args", value: "100", fixed: true},
	{name: "max_prepared_transactions", value: "0", fixed: true},
	{name: "ssl", value: "off", fixed: true},
	{name: "superuser_reserved_connections", value: "0", fixed: true, comment: "connections reserved for admins"},
	{name: "application_name", value: "", report: true, cut: true, check: printable,
		comment: "name of the client, for divan.sessions"},
	{name: "bytea_output", value: "hex", check: quantities.OneOf("hex", "escape")},
	{name: "client_encoding", value: "UTF8", report: true, cut: true, check: clientEncoding},
	{name: "client_min_messages", value: "notice",
		check: quantities.OneOf("debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error")},
	{name: "datestyle", shown: "DateStyle", value: "ISO, MDY", report: true, check: quantities.DateStyle},
	{name: "default_transaction_isolation", value: "read committed", check: isolationLevels},
	{name: "default_transaction_read_only", value: "off", report: true, check: quantities.Boolean},
	{name: AsOf, value: "", check: sequence, comment: "the sequence as of which statements read; empty is none"},
	{name: copying.PartSetting, value: "0",
		check:   quantities.Quantity{Name: copying.PartSetting, High: 1_000_000, Whole: true}.Check,
		comment: "the rows that COPY FROM writes in a transaction; with 0 all rows are one"},
	{name: exec.PartitionSetting, value: "",
		comment: "the partition in which views of partitioned design documents are read"},
	{name: "divan.update", value: "true", check: quantities.OneOf("true", "false", "lazy"),
		comment: "how fresh views must be: CouchDB's parameter update"},
	{name: exec.IndexesSetting, value: "on", check: quantities.Boolean,
		comment: "reads of documents use views and Mango indexes by themselves"},
	{name: ViewKind, value: "view", check: quantities.OneOf("view", "table"),
		comment: "what the catalogue shows views as; pg_dump takes the rows of tables alone"},
	{name: joins.HashJoinSetting, value: "on", check: quantities.Boolean,
		comment: "joins use hash tables where they can"},
	{name: joins.IndexScanSetting, value: "on", check: quantities.Boolean,
		comment: "joins and sub-queries read documents and views by the ids and keys of other rows"},
	{name: joins.MemoizeSetting, value: "on", check: quantities.Boolean,
		comment: "sub-queries that are run for each row look their rows up together, or in a hash table"},
	{name: joins.NestLoopSetting, value: "on", check: quantities.Boolean,
		comment: "joins read one side by the keys of the other"},
	{name: "escape_string_warning", value: "on", check: quantities.Boolean},
	{name: "extra_float_digits", value: "1",
		check: quantities.Quantity{Name: "extra_float_digits", Low: -15, High: 3, Whole: true}.Check},
	{name: "idle_in_transaction_session_timeout", value: "0", check: timeout("idle_in_transaction_session_timeout")},
	{name: "in_hot_standby", value: "off", report: true, fixed: true},
	{name: "integer_datetimes", value: "on", report: true, fixed: true},
	{name: "intervalstyle", shown: "IntervalStyle", value: "postgres", report: true,
		check: quantities.OneOf("postgres", "postgres_verbose", "sql_standard", "iso_8601")},
	{name: "is_superuser", value: "off", report: true, fixed: true},
	{name: "lc_collate", value: "C", fixed: true},
	{name: "lc_ctype", value: "C.UTF-8", fixed: true},
	{name: "lc_messages", value: "C", check: quantities.Locale("lc_messages", "en_US", "en_GB")},
	{name: "lc_monetary", value: "C", check: quantities.Locale("lc_monetary")},
	{name: "lc_numeric", value: "C", check: quantities.Locale("lc_numeric", "en_US", "en_GB")},
	{name: "lc_time", value: "C", check: quantities.Locale("lc_time", "en_US", "en_GB")},
	{name: "lock_timeout", value: "0", check: timeout("lock_timeout")},
	{name: "max_identifier_length", value: "63", fixed: true},
	{name: "max_index_keys", value: "32", fixed: true},
	{name: "role", value: "none", cut: true},
	{name: "row_security", value: "on", check: quantities.Boolean},
	{name: "search_path", value: `"$user", public`},
	{name: "server_encoding", value: "UTF8", report: true, fixed: true},
	{name: "server_version", value: serverVersion, report: true, fixed: true},
	{name: "server_version_num", value: serverVersionNumber, fixed: true},
	{name: "session_authorization", value: "", report: true, cut: true},
	{name: "standard_conforming_strings", value: "on", report: true,
		check: quantities.Switch("standard_conforming_strings")},
	{name: "statement_timeout", value: "0", check: timeout("statement_timeout")},
	{name: "timezone", shown: "TimeZone", value: "UTC", report: true, check: zones.Check},
	{name: "transaction_isolation", value: "read committed", check: isolationLevels},
	{name: ReadOnly, value: "off", check: quantities.Boolean},
}

func find(name string) *setting {
	for i := range table {
		if table[i].name == name {
			return &table[i]
		}
	}
	return harmless[name]
}

func (s *setting) label() string {
	if s.shown != "" {
		return s.shown
	}
	return s.name
}

// Label returns the name of a setting as SHOW prints it.
func Label(name string) string {
	if s := find(name); s != nil {
		return s.label()
	}
	return name
}

// UpdateMode returns the setting divan.update.
func (v *Values) UpdateMode() exec.UpdateMode {
	switch v.value["divan.update"] {
	case "false":
		return exec.UpdateFalse
	case "lazy":
		return exec.UpdateLazy
	}
	return exec.UpdateTrue
}

// StatementTimeout returns the setting statement_timeout; 0 is none.
func (v *Values) StatementTimeout() time.Duration {
	return Duration(v.value["statement_timeout"])
}

// SearchPath returns the setting as a list without "$user", because users have no schemas here. The list is shared.
func (v *Values) SearchPath() []string {
	text := v.value["search_path"]
	if v.path.known && v.path.text == text {
		return v.path.list
	}
	var out []string
	for _, part := range splitNames(text) {
		if part != "$user" && part != "" {
			out = append(out, part)
		}
	}
	v.path.text, v.path.list, v.path.known = text, slices.Clip(out), true
	return v.path.list
}

// splitNames splits a list of names at its commas. Names may be quoted.
func splitNames(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var name string
		if s[0] == '"' {
			i := 1
			var b strings.Builder
			for ; i < len(s); i++ {
				if s[i] == '"' {
					if i+1 < len(s) && s[i+1] == '"' {
						i++
					} else {
						break
					}
				}
				b.WriteByte(s[i])
			}
			name, s = b.String(), s[min(i+1, len(s)):]
			_, s, _ = strings.Cut(s, ",")
		} else {
			name, s, _ = strings.Cut(s, ",")
			name = keyword.Fold(strings.TrimSpace(name))
		}
		out = append(out, name)
	}
	return out
}

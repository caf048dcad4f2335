package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divandb/divan/query/exec"
	"github.com/divandb/divan/query/sqlstate"
)

// setting is a variable of the session: its default, and what it accepts. Variables whose effect does not exist here are accepted
// with any value, as long as that is harmless: clients set them out of habit.
type setting struct {
	name    string // lower case
	shown   string // as SHOW ALL and ParameterStatus write it
	value   string // default
	report  bool   // ParameterStatus
	fixed   bool   // 55P02 when set to anything else
	check   func(v string) (string, error)
	comment string
}

func oneOf(values ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if i := slices.Index(values, strings.ToLower(v)); i >= 0 {
			return values[i], nil
		}
		return "", sqlstate.New(sqlstate.InvalidParameterValue, "invalid value").WithHint("Available values: %s.", strings.Join(values, ", "))
	}
}

func boolean(v string) (string, error) {
	switch strings.ToLower(v) {
	case "on", "true", "yes", "1", "t", "y":
		return "on", nil
	case "off", "false", "no", "0", "f", "n":
		return "off", nil
	}
	return "", sqlstate.New(sqlstate.InvalidParameterValue, "parameter requires a Boolean value")
}

func utf8Only(v string) (string, error) {
	// PostgreSQL reads over everything but letters and digits, and asyncpg sends quotes.
	switch strings.ToLower(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
			return r
		}
		return -1
	}, v)) {
	case "utf8", "unicode":
		return "UTF8", nil
	}
	return "", sqlstate.Unsupported(-1, "Use UTF8.", "client encoding %q is not supported", v)
}

func zone(v string) (string, error) {
	_, name, err := location(v)
	return name, err
}

// location finds a time zone by name or by hours east of UTC.
func location(v string) (*time.Location, string, error) {
	switch strings.ToLower(v) {
	case "utc", "gmt", "z", "default", "local", "zulu", "etc/utc":
		return time.UTC, strings.ToUpper(v[:1]) + v[1:], nil
	}
	if h, err := strconv.ParseFloat(v, 64); err == nil && h >= -15 && h <= 15 {
		return time.FixedZone("", int(h*3600)), v, nil
	}
	l, err := time.LoadLocation(v)
	if err != nil || strings.HasPrefix(v, "/") {
		return nil, "", sqlstate.New(sqlstate.InvalidParameterValue, "invalid value for parameter \"TimeZone\": %q", v)
	}
	return l, v, nil
}

// timeout reads milliseconds, or a number with a unit.
func timeout(v string) (string, error) {
	d, err := parseTimeout(v)
	if err != nil {
		return "", err
	}
	switch {
	case d == 0:
		return "0", nil
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour), nil
	case d%time.Minute == 0:
		return fmt.Sprintf("%dmin", d/time.Minute), nil
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second), nil
	}
	return fmt.Sprintf("%dms", d/time.Millisecond), nil
}

func parseTimeout(v string) (time.Duration, error) {
	s := strings.TrimSpace(v)
	n := len(s) - len(strings.TrimLeft(s, "0123456789."))
	f, err := strconv.ParseFloat(s[:n], 64)
	unit, ok := map[string]time.Duration{"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[strings.TrimSpace(s[n:])]
	if err != nil || !ok {
		return 0, sqlstate.New(sqlstate.InvalidParameterValue, "invalid value for a timeout: %q", v).
			WithHint(`Valid units for this parameter are "us", "ms", "s", "min", "h", and "d".`)
	}
	d := f * float64(unit)
	if d < 0 || d > float64(2147483647*time.Millisecond) {
		return 0, sqlstate.New(sqlstate.InvalidParameterValue, "%q is outside the valid range for a timeout (0 .. 2147483647 ms)", v)
	}
	return time.Duration(d), nil
}

var settings = []setting{
	{name: "application_name", value: "", report: true, comment: "name of the client, for divan.sessions"},
	{name: "bytea_output", value: "hex", check: oneOf("hex", "escape")},
	{name: "client_encoding", value: "UTF8", report: true, check: utf8Only},
	{name: "client_min_messages", value: "notice"},
	{name: "datestyle", shown: "DateStyle", value: "ISO, MDY", report: true, check: func(v string) (string, error) {
		if v == "" || strings.Contains(strings.ToLower(v), "iso") || !strings.ContainsAny(strings.ToLower(v), "sqg") {
			return "ISO, MDY", nil
		}
		return "", sqlstate.Unsupported(-1, "Use ISO.", "DateStyle %q is not supported", v)
	}},
	{name: "default_transaction_isolation", value: "read committed"},
	{name: "default_transaction_read_only", value: "on", report: true},
	{name: "divan.update", value: "true", check: oneOf("true", "false", "lazy"), comment: "how fresh views must be: CouchDB's parameter update"},
	{name: "escape_string_warning", value: "on"},
	{name: "extra_float_digits", value: "1"},
	{name: "idle_in_transaction_session_timeout", value: "0", check: timeout},
	{name: "in_hot_standby", value: "off", report: true, fixed: true},
	{name: "integer_datetimes", value: "on", report: true, fixed: true},
	{name: "intervalstyle", shown: "IntervalStyle", value: "postgres", report: true, check: oneOf("postgres")},
	{name: "is_superuser", value: "off", report: true, fixed: true},
	{name: "lc_collate", value: "C", fixed: true},
	{name: "lc_ctype", value: "C.UTF-8", fixed: true},
	{name: "lc_messages", value: "C"},
	{name: "lc_monetary", value: "C"},
	{name: "lc_numeric", value: "C"},
	{name: "lc_time", value: "C"},
	{name: "lock_timeout", value: "0", check: timeout},
	{name: "max_identifier_length", value: "63", fixed: true},
	{name: "max_index_keys", value: "32", fixed: true},
	{name: "role", value: "none"},
	{name: "row_security", value: "on"},
	{name: "search_path", value: `"$user", public`},
	{name: "server_encoding", value: "UTF8", report: true, fixed: true},
	{name: "server_version", value: ServerVersion, report: true, fixed: true},
	{name: "server_version_num", value: "150008", fixed: true},
	{name: "session_authorization", value: "", report: true},
	{name: "standard_conforming_strings", value: "on", report: true, check: func(v string) (string, error) {
		b, err := boolean(v)
		if err == nil && b == "off" {
			return "", sqlstate.Unsupported(-1, "Write E'...' for escapes.", "standard_conforming_strings cannot be turned off")
		}
		return b, err
	}},
	{name: "statement_timeout", value: "0", check: timeout},
	{name: "timezone", shown: "TimeZone", value: "UTC", report: true, check: zone},
	{name: "transaction_isolation", value: "read committed"},
	{name: "transaction_read_only", value: "on"},
}

func findSetting(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

func (s *setting) label() string {
	if s.shown != "" {
		return s.shown
	}
	return s.name
}

// variables are a session's settings. local holds what COMMIT and ROLLBACK undo.
type variables struct {
	value   map[string]string
	initial map[string]string // what RESET goes back to
	local   map[string]string // the value before SET LOCAL
}

func newVariables() variables {
	v := variables{value: map[string]string{}, initial: map[string]string{}, local: map[string]string{}}
	for _, s := range settings {
		v.value[s.name], v.initial[s.name] = s.value, s.value
	}
	return v
}

// set checks and stores a value, and answers it in its canonical form.
func (v *variables) set(name, value string) (string, error) {
	s := findSetting(name)
	if s == nil {
		// A name with a point is somebody's own; others are accepted too, since nothing here depends on them.
		if len(name) > 128 || len(v.value) > 1000 {
			return "", sqlstate.New(sqlstate.ProgramLimitExceeded, "too many settings, or too long a name")
		}
		v.value[name] = value
		return value, nil
	}
	if s.fixed && !strings.EqualFold(value, v.value[name]) {
		return "", sqlstate.New(sqlstate.CantChangeParameter, "parameter %q cannot be changed", s.label())
	}
	if s.check != nil {
		canonical, err := s.check(value)
		if err != nil {
			e := sqlstate.From(err)
			if e.Message == "invalid value" || strings.HasPrefix(e.Message, "parameter requires") {
				c := *e
				c.Message = fmt.Sprintf("invalid value for parameter %q: %q", s.label(), value)
				return "", &c
			}
			return "", err
		}
		value = canonical
	}
	v.value[name] = value
	return value, nil
}

func (v *variables) updateMode() exec.UpdateMode {
	switch v.value["divan.update"] {
	case "false":
		return exec.UpdateFalse
	case "lazy":
		return exec.UpdateLazy
	}
	return exec.UpdateTrue
}

func (v *variables) statementTimeout() time.Duration {
	d, _ := parseTimeout(v.value["statement_timeout"])
	return d
}

// searchPath is the setting as a list, with "$user" left out: users have no schemas here.
func (v *variables) searchPath() []string {
	var out []string
	for _, part := range splitNames(v.value["search_path"]) {
		if part != "$user" && part != "" {
			out = append(out, part)
		}
	}
	return out
}

// splitNames cuts a list of names at its commas; names may be quoted.
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
			name = strings.ToLower(strings.TrimSpace(name))
		}
		out = append(out, name)
	}
	return out
}

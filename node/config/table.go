package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// row describes a setting, or a section of settings. The rows make the defaults, the flags and the checks of single
// settings, the comments of node.yaml, and docs/settings.md. Checks of several settings together are in check.go.
type row struct {
	path string // "storage.engine"
	// def is the default as node.yaml writes it. A section has none.
	def string
	// allowed is checked after all sources were read. nil means that every value of the type is allowed, or that
	// check.go has the check.
	allowed allowed
	text    string // comment in node.yaml: words, not sentences, parts separated by semicolons

	flag flagName // zero if the setting has no flag of its own
	// engine is the only storage.engine for which the setting can be set. Empty means any.
	engine string
	// before and example are lines of comments before and after the setting in node.yaml.
	before, example []string
}

// flagName is a flag with a short environment variable, DIVAN_ and its name: -http and DIVAN_HTTP.
type flagName struct {
	name  string
	usage string // with the name of its value in back quotes, as package flag prints it
}

func (f flagName) env() string { return envPrefix + strings.ToUpper(f.name) }

// rows are all settings in the order of node.yaml and of Config.
var rows = slices.Concat(serverRows, storeRows, workRows)

// otherFlags are the flags that are not settings.
var otherFlags = []flagName{
	{"config", "read settings from `FILE` instead of ./node.yaml"},
	{"admin", "a single admin, as `USER:PASSWORD`"},
}

// allFlags returns all flags.
func allFlags() []flagName {
	_, flags := rowFlags()
	return slices.Concat(otherFlags[:1], flags, otherFlags[1:])
}

// rowFlags returns the flags of settings, with their paths.
func rowFlags() (paths map[string]string, flags []flagName) {
	paths = map[string]string{}
	for _, r := range rows {
		if r.flag.name != "" {
			paths[r.flag.name] = r.path
			flags = append(flags, r.flag)
		}
	}
	return paths, flags
}

// allowed says which values a setting may have.
type allowed interface {
	// fault returns what is wrong with the value, or "". of returns the value of another setting.
	fault(value reflect.Value, of func(path string) reflect.Value) string
	// String describes the values for a reader.
	String() string
}

// between allows numbers and sizes from low to high. If most is set, the setting of that path is another upper limit.
type between struct {
	low, high int64
	most      string
}

func (b between) fault(value reflect.Value, of func(string) reflect.Value) string {
	high := b.high
	if b.most != "" {
		high = max(b.low, min(high, of(b.most).Int()))
	}
	if n := value.Int(); n >= b.low && n <= high {
		return ""
	}
	if value.Type() == sizeType {
		return fmt.Sprintf("%v is not between %v and %v", value, Size(b.low), Size(high))
	}
	return fmt.Sprintf("%v is not between %d and %d", value, b.low, high)
}

func (b between) String() string {
	if b.most != "" {
		return fmt.Sprintf("%d to %s", b.low, b.most)
	}
	return fmt.Sprintf("%d to %d", b.low, b.high)
}

// sizes is between for sizes.
type sizes struct{ between }

func (b sizes) String() string {
	if b.most != "" {
		return fmt.Sprintf("%v to %s", Size(b.low), b.most)
	}
	return fmt.Sprintf("%v to %v", Size(b.low), Size(b.high))
}

// times allows durations from low to high. 0 for high means any.
type times struct{ low, high time.Duration }

func (t times) fault(value reflect.Value, _ func(string) reflect.Value) string {
	switch d := time.Duration(value.Int()); {
	case d < 0:
		return "must not be negative"
	case t.high > 0 && (d < t.low || d > t.high):
		return fmt.Sprintf("%s is not between %s and %s", short(d), short(t.low), short(t.high))
	case d < t.low:
		return fmt.Sprintf("is too short; at least %s", short(t.low))
	}
	return ""
}

func (t times) String() string {
	if t.high > 0 {
		return short(t.low) + " to " + short(t.high)
	}
	return "at least " + short(t.low)
}

// short formats a duration without zero minutes and seconds: 1h instead of 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// oneOf allows these texts.
type oneOf []string

func (o oneOf) fault(value reflect.Value, _ func(string) reflect.Value) string {
	if slices.Contains(o, value.String()) {
		return ""
	}
	return fmt.Sprintf("%q is not one of %s", value.String(), o)
}

func (o oneOf) String() string {
	return strings.TrimPrefix(strings.Join(o, ", "), ", ")
}

// checkRows checks each setting by its row.
func (s *settings) checkRows() {
	values := map[string]reflect.Value{}
	walk(reflect.ValueOf(s.cfg).Elem(), "", func(path string, field reflect.Value) { values[path] = field })
	of := func(path string) reflect.Value { return values[path] }
	for _, r := range rows {
		value, ok := values[r.path]
		if !ok {
			continue // a section
		}
		if r.engine != "" && r.engine != s.cfg.Storage.Engine && !value.IsZero() {
			s.at(r.path, "is for the engine %s, but the engine is %s", r.engine, s.cfg.Storage.Engine)
		}
		if r.allowed == nil {
			continue
		}
		if why := r.allowed.fault(value, of); why != "" {
			s.at(r.path, "%s", why)
		}
	}
}

// Default returns the settings of a node without any configuration.
func Default() *Config {
	c := &Config{}
	fields := map[string]reflect.Value{}
	walk(reflect.ValueOf(c).Elem(), "", func(path string, field reflect.Value) { fields[path] = field })
	for _, r := range rows {
		field, ok := fields[r.path]
		switch {
		case !ok || r.def == `""` || r.def == "[]":
		case r.def == "{}":
			field.Set(reflect.MakeMap(field.Type()))
		default:
			def := r.def
			if field.Kind() == reflect.Slice {
				def = strings.Trim(def, "[]")
			}
			if err := setFromText(field, def); err != nil {
				panic(fmt.Sprintf("the default of %s: %v", r.path, err)) // a fault of the table, found by every test
			}
		}
	}
	return c
}

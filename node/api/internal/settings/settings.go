package settings

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
	"github.com/divandb/divan/node/couchopts"
)

// Settings are the CouchDB options that clients read and set over /_node/{name}/_config: section, key, text (package
// couchopts). They start with the values in node.yaml. What clients change overrides those, on all nodes and after a
// restart, if there is a Keeper. Settings is safe for concurrent use.
type Settings struct {
	initial values // that Delete restores
	keep    Keeper // nil: changes are kept in memory
	mu      struct {
		sync.RWMutex
		fixed    values // that cannot be changed
		changed  layer.OptionValues
		sections values
		cors     *corsRules // derived from sections when first needed after a change
		heed     func(sections map[string]bool)
	}
}

// values are texts by section and key.
type values map[string]map[string]string

// Keeper keeps changed options for all nodes and for later starts.
type Keeper interface {
	// ChangeOptions lets change modify the options that clients have changed, stores them, and calls Adopt with them
	// before it returns. An error of change is returned unchanged.
	ChangeOptions(ctx context.Context, change func(changed layer.OptionValues) error) error
}

// New returns settings with initial values by section and key, which override CouchDB's defaults.
func New(initial map[string]map[string]string) *Settings {
	s := &Settings{initial: values(couchopts.Defaults())}
	for section, texts := range initial {
		if s.initial[section] == nil {
			s.initial[section] = map[string]string{}
		}
		maps.Copy(s.initial[section], texts)
	}
	s.mu.fixed = values{}
	s.mu.sections = s.initial.with(nil)
	return s
}

// Keep sets the Keeper, before the first request.
func (s *Settings) Keep(k Keeper) { s.keep = k }

// Heed sets a function that is called after changes with the names of the sections that have changed. It must not
// block, nor change settings.
func (s *Settings) Heed(f func(sections map[string]bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.heed = f
}

// Fix shows the value of an option that cannot be changed.
func (s *Settings) Fix(section, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.fixed[section] == nil {
		s.mu.fixed[section] = map[string]string{}
	}
	s.mu.fixed[section][key] = value
}

// with returns a copy of the values with changes.
func (v values) with(changed layer.OptionValues) values {
	all := make(values, len(v))
	for section, texts := range v {
		all[section] = maps.Clone(texts)
	}
	for name, value := range changed {
		switch {
		case value == nil:
			delete(all[name.Section], name.Key)
		case all[name.Section] == nil:
			all[name.Section] = map[string]string{name.Key: *value}
		default:
			all[name.Section][name.Key] = *value
		}
	}
	return all
}

// Adopt makes the options effective that clients have changed. Those that this version does not know, or whose value
// it would refuse, are ignored: another version may have stored them.
func (s *Settings) Adopt(changed layer.OptionValues) {
	known := layer.OptionValues{}
	for name, value := range changed {
		if o := couchopts.Find(name.Section, name.Key); o != nil && !o.Fixed &&
			(value == nil || o.Check(name.Key, *value) == "") {
			known[name] = value
		}
	}
	if checkTogether(s.initial.with(known)) != nil {
		for name := range known {
			if name.Section == "cors" {
				delete(known, name)
			}
		}
	}
	s.mu.Lock()
	before := s.mu.sections
	s.mu.changed, s.mu.sections, s.mu.cors = known, s.initial.with(known), nil
	differ := map[string]bool{}
	for _, both := range []values{before, s.mu.sections} {
		for section := range both {
			if !maps.Equal(before[section], s.mu.sections[section]) {
				differ[section] = true
			}
		}
	}
	heed := s.mu.heed
	s.mu.Unlock()
	if heed != nil && len(differ) > 0 {
		heed(differ)
	}
}

// Get returns a value.
func (s *Settings) Get(section, key string) (string, bool) {
	section = couchopts.Section(section)
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.mu.sections[section][key]
	if !ok {
		v, ok = s.mu.fixed[section][key]
	}
	return v, ok
}

// Changed is an option that clients have changed. Before is the value that it had. Both are empty if there is none.
// Value is couchopts.Shown if it is secret. Setting is the setting of node.yaml that has the first value, if there is
// one.
type Changed struct{ Name, Value, Before, Setting string }

// Changed returns the options that clients have changed, by name.
func (s *Settings) Changed() []Changed {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Changed, 0, len(s.mu.changed))
	for name, value := range s.mu.changed {
		c := Changed{Name: name.Section + "/" + name.Key,
			Before: hidden(name.Section, name.Key, s.initial[name.Section][name.Key])}
		if value != nil {
			c.Value = hidden(name.Section, name.Key, *value)
		}
		if c.Value == couchopts.Shown {
			c.Before = "" // it differs
		}
		if o := couchopts.Find(name.Section, name.Key); o != nil {
			c.Setting = o.Setting
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Changed) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// IsTrue reports whether a value is "true".
func (s *Settings) IsTrue(section, key string) bool {
	v, _ := s.Get(section, key)
	return v == "true"
}

// Int returns a value as a number, or absent if it is not a number.
func (s *Settings) Int(section, key string, absent int) int {
	v, _ := s.Get(section, key)
	if n, err := strconv.Atoi(v); err == nil {
		return n
	}
	return absent
}

var errUnknownSetting = fault.NotFound("unknown_config_value")

// Changeable returns an error for an option that would have no effect, NotFound as in CouchDB for a missing value, or
// that cannot be changed at run time.
func (s *Settings) Changeable(section, key string) error {
	section = couchopts.Section(section)
	switch o := couchopts.Find(section, key); {
	case o == nil:
		return errUnknownSetting
	case o.Fixed && o.Setting != "":
		return fault.Forbidden(o.Name() + " is read at the start, from " + o.Setting + " in node.yaml.")
	case o.Fixed:
		return fault.Forbidden(o.Name() + " cannot be changed.")
	}
	return nil
}

// Set sets a value and returns the former one, or "" if there was none. It refuses what node.yaml would refuse:
// invalid values.
func (s *Settings) Set(ctx context.Context, section, key, value string) (old string, err error) {
	section = couchopts.Section(section)
	if err := s.Changeable(section, key); err != nil {
		return "", err
	}
	o := couchopts.Find(section, key)
	if why := cmp.Or(o.Check(key, value), o.Unreadable(value)); why != "" {
		return "", fault.BadRequest("%s/%s: %s", section, key, why)
	}
	old, _ = s.Get(section, key)
	return old, s.change(ctx, func(changed layer.OptionValues) error {
		changed[layer.OptionName{Section: section, Key: key}] = &value
		return s.check(section, changed)
	})
}

// Delete restores the value in node.yaml and returns the former one. It refuses what Set refuses.
func (s *Settings) Delete(ctx context.Context, section, key string) (old string, err error) {
	section = couchopts.Section(section)
	old, ok := s.Get(section, key)
	if !ok {
		return "", errUnknownSetting
	}
	if err := s.Changeable(section, key); err != nil {
		return "", err
	}
	return old, s.change(ctx, func(changed layer.OptionValues) error {
		delete(changed, layer.OptionName{Section: section, Key: key})
		return s.check(section, changed)
	})
}

// change lets f modify the changed options, keeps them, and makes them effective.
func (s *Settings) change(ctx context.Context, f func(changed layer.OptionValues) error) error {
	if s.keep != nil {
		return s.keep.ChangeOptions(ctx, f)
	}
	s.mu.RLock()
	changed := maps.Clone(s.mu.changed)
	s.mu.RUnlock()
	if changed == nil {
		changed = layer.OptionValues{}
	}
	if err := f(changed); err != nil {
		return err
	}
	s.Adopt(changed)
	return nil
}

// check checks a section together with what other nodes have changed meanwhile.
func (s *Settings) check(section string, changed layer.OptionValues) error {
	if section != "cors" {
		return nil
	}
	return checkTogether(s.initial.with(changed))
}

func checkTogether(all values) error {
	if why := auth.CheckOrigins(couchopts.Members(all["cors"]["origins"])); why != "" {
		return fault.BadRequest("cors/origins: %s", why)
	}
	return nil
}

// Section returns a copy of a section as clients may see it, empty if there is none.
func (s *Settings) Section(section string) map[string]string {
	section = couchopts.Section(section)
	s.mu.RLock()
	defer s.mu.RUnlock()
	shown := map[string]string{}
	maps.Copy(shown, s.mu.fixed[section])
	for key, value := range s.mu.sections[section] {
		shown[key] = hidden(section, key, value)
	}
	return shown
}

// hidden returns a value as clients may see it.
func hidden(section, key, value string) string {
	if value != "" && couchopts.IsSecret(couchopts.Section(section), key) {
		return couchopts.Shown
	}
	return value
}

// Sections returns all sections as clients may see them.
func (s *Settings) Sections() map[string]map[string]string {
	s.mu.RLock()
	names := map[string]bool{}
	for _, all := range []values{s.mu.sections, s.mu.fixed} {
		for name := range all {
			names[name] = true
		}
	}
	s.mu.RUnlock()
	all := make(map[string]map[string]string, len(names))
	for name := range names {
		all[name] = s.Section(name)
	}
	return all
}

// Values returns a copy of all values, with secrets, for the parts of the node that heed them.
func (s *Settings) Values() map[string]map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.sections.with(nil)
}

// appendSection appends a section as a JSON object, keys in order.
func appendSection(dst []byte, values map[string]string) []byte {
	keys := make([]string, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	dst = append(dst, '{')
	for _, k := range keys {
		dst = encode.StringMember(dst, k, values[k])
	}
	return append(dst, '}')
}

package settings

import (
	"maps"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/auth"
)

// Settings are the CouchDB options that clients read and set over /_node/{name}/_config: section, key, text. They start
// with the values in node.yaml and are lost when the node stops. Permanent values belong in node.yaml. Settings is safe
// for concurrent use.
type Settings struct {
	initial map[string]map[string]string // values that Delete restores
	mu      struct {
		sync.RWMutex
		sections map[string]map[string]string
		cors     *corsRules // derived from sections when first needed after a change
	}
}

// New returns settings with initial values by section and key, which override CouchDB's defaults.
func New(initial map[string]map[string]string) *Settings {
	s := &Settings{}
	s.initial = map[string]map[string]string{
		"chttpd": {"enable_cors": "false", "allow_jsonp": "false", "admin_only_all_dbs": "true",
			"require_valid_user": "false", "changes_timeout": "60000"},
		"cors":     {"credentials": "false"},
		"couchdb":  {"users_db_security_editable": "false"},
		"uuids":    {"algorithm": "sequential", "max_count": "1000"},
		"features": {},
		// Results of reduce functions must be smaller than their input.
		"query_server_config": {"reduce_limit": "true"},
		"mango":               {"default_limit": "25", "index_scan_warning_threshold": "10"},
		"replicator": {"max_history": "20", "health_threshold": "120", "use_checkpoints": "true",
			"use_bulk_get": "true", "valid_endpoint_protocols": "http,https",
			"valid_proxy_protocols": "http,https,socks5", "ssl_certificate_max_depth": "3",
			"max_document_id_length": "infinity", "missing_doc_retry_msec": "2000",
			"auth_plugins":                 SessionPlugin + "," + BasicPlugin,
			"session_refresh_interval_sec": "550", "update_docs": "false"},
	}
	for section, values := range initial {
		if s.initial[section] == nil {
			s.initial[section] = map[string]string{}
		}
		maps.Copy(s.initial[section], values)
	}
	s.mu.sections = map[string]map[string]string{}
	for section, values := range s.initial {
		s.mu.sections[section] = maps.Clone(values)
	}
	return s
}

// Get returns a value.
func (s *Settings) Get(section, key string) (string, bool) {
	section = canonicalSection(section)
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.mu.sections[section][key]
	return v, ok
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

// Known reports whether the option has an effect.
func (s *Settings) Known(section, key string) bool {
	return knownSettings[canonicalSection(section)+"/"+key] != nil
}

// Set sets a value and returns the former one, or "" if there was none. It refuses what node.yaml would refuse: invalid
// values, and origins that open the node to every page of the web. The error is NotFound, as in CouchDB for a missing
// value, if the option would have no effect.
func (s *Settings) Set(section, key, value string) (old string, err error) {
	section = canonicalSection(section)
	check, known := knownSettings[section+"/"+key]
	if !known {
		return "", errUnknownSetting
	}
	if why := check(value); why != "" {
		return "", fault.BadRequest("%s/%s: %s", section, key, why)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if section == "cors" {
		next := maps.Clone(s.mu.sections["cors"])
		next[key] = value
		if setting, why := auth.CheckOrigins(members(next["origins"]), next["credentials"] == "true"); why != "" {
			return "", fault.BadRequest("cors/%s: %s", setting, why)
		}
	}
	if s.mu.sections[section] == nil {
		s.mu.sections[section] = map[string]string{}
	}
	old = s.mu.sections[section][key]
	s.mu.sections[section][key] = value
	s.mu.cors = nil
	return old, nil
}

// Delete restores the value in node.yaml and returns the former one. It refuses what Set refuses.
func (s *Settings) Delete(section, key string) (old string, ok bool, err error) {
	section = canonicalSection(section)
	if old, ok = s.Get(section, key); !ok {
		return "", false, nil
	}
	if first, has := s.initial[section][key]; has {
		_, err = s.Set(section, key, first)
		return old, true, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.sections[section], key)
	s.mu.cors = nil
	return old, true, nil
}

// Section returns a copy of a section, empty if there is none.
func (s *Settings) Section(section string) map[string]string {
	section = canonicalSection(section)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.mu.sections[section])
}

// Sections returns a copy of all sections.
func (s *Settings) Sections() map[string]map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]map[string]string, len(s.mu.sections))
	for name, values := range s.mu.sections {
		all[name] = maps.Clone(values)
	}
	return all
}

// canonicalSection maps section names of CouchDB 1 and 2, which clients' set-up scripts still use, to current ones
// (httpd/enable_cors).
func canonicalSection(section string) string {
	switch section {
	case "httpd":
		return "chttpd"
	case "couch_httpd_auth":
		return "chttpd_auth"
	}
	return section
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

// members splits a comma-separated option, keeping empty members. An empty option has no members.
func members(v string) []string {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	list := strings.Split(v, ",")
	for i, one := range list {
		list[i] = strings.TrimSpace(one)
	}
	return list
}

// splitList splits a comma-separated option, dropping empty members.
func splitList(v string) []string {
	var list []string
	for _, one := range strings.Split(v, ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}

package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Setting is the value of one setting as text.
type Setting struct {
	Path    string // "http.listen"
	Value   string
	Default string
}

// secret replaces the value of a setting that must not be shown.
const secret = "(secret)"

// Shown returns all settings in the order of node.yaml. Passwords, secrets, tokens and hashes are not in it; for admins
// there are their names.
func (c *Config) Shown() []Setting {
	list := []Setting{}
	walk(reflect.ValueOf(Default()).Elem(), "", func(path string, field reflect.Value) {
		list = append(list, Setting{Path: path, Default: shown(path, field)})
	})
	i := 0
	walk(reflect.ValueOf(c).Elem(), "", func(path string, field reflect.Value) {
		list[i].Value = shown(path, field)
		i++
	})
	return list
}

// HasSecrets reports whether any setting holds a secret, a password, a token or a hash.
func (c *Config) HasSecrets() bool {
	found := len(c.Admins)+len(c.Auth.JWT.Keys) > 0
	walk(reflect.ValueOf(c).Elem(), "", func(path string, field reflect.Value) {
		found = found || isSecret(path) && field.Len() > 0
	})
	return found
}

func shown(path string, field reflect.Value) string {
	hidden := isSecret(path)
	switch v := field.Interface().(type) {
	case map[string]string: // admins: name to hash
		return strings.Join(slices.Sorted(maps.Keys(v)), ", ")
	case []string:
		if hidden && len(v) > 0 {
			return secret
		}
		return strings.Join(v, ", ")
	default:
		text := fmt.Sprint(v)
		if hidden && text != "" {
			return secret
		}
		return text
	}
}

// isSecret reports whether a setting holds a secret, a password or a token.
func isSecret(path string) bool {
	if path == "auth.password_regexp" {
		return false
	}
	name := path[strings.LastIndexByte(path, '.')+1:]
	return slices.ContainsFunc([]string{"secret", "password", "token"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

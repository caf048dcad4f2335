// Package couchopts is the table of CouchDB's options: which have an effect here, which values they may have, their
// defaults, and which setting of node.yaml gives them their first value; and which are accepted without one. Clients
// read and change them with /_node/{name}/_config; all other options are refused. What an option does is decided where
// it is read.
package couchopts

import (
	"os"
	"slices"
	"strings"

	"github.com/divandb/divan/node/auth"
)

// Option is one of CouchDB's options.
type Option struct {
	// A Key "*" stands for all keys of the section, and a Section that ends in a star for all that begin so.
	Section, Key string
	// Default is the value if neither node.yaml nor a client sets one; None means that there is none then.
	Default string
	None    bool
	// Setting is the setting of node.yaml that has the first value.
	Setting string
	// Fixed options are shown, but only Setting can change them, with a restart.
	Fixed bool
	// Ignored options are kept and shown, and have no effect.
	Ignored bool
	// Given options can only have their Default, and are not shown before they are set.
	Given bool
	// Secret values are stored, and never shown.
	Secret bool
	// File values name a file that every node reads.
	File bool
	Text string // for docs/settings.md

	check func(value string) (why string) // nil for the options of package auth
}

// Name returns "section/key".
func (o *Option) Name() string { return o.Section + "/" + o.Key }

// Shown replaces the values of secret options.
const Shown = "(secret)"

// Find returns the option of a section and a key, or nil if it has no effect.
func Find(section, key string) *Option {
	i := slices.IndexFunc(All, func(o Option) bool {
		family, all := strings.CutSuffix(o.Section, "*")
		return (o.Section == section || all && strings.HasPrefix(section, family)) && (o.Key == key || o.Key == "*")
	})
	if i < 0 {
		return nil
	}
	return &All[i]
}

// IsSecret reports whether a value of the option must not be shown. It is asked with the whole key.
func IsSecret(section, key string) bool {
	o := Find(section, key)
	return o != nil && o.Secret || section == "jwt_keys" && auth.IsSecretKey(key)
}

// Section returns today's name of a section of CouchDB 1 and 2, which clients' set-up scripts still use.
func Section(section string) string {
	switch section {
	case "httpd":
		return "chttpd"
	case "couch_httpd_auth":
		return "chttpd_auth"
	}
	return section
}

// Check returns what is wrong with a value of an option that is not Fixed, or "".
func (o *Option) Check(key, value string) (why string) {
	if len(value) > MaxValue {
		return "it is too long"
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
		return "it contains a control character"
	}
	if IsSecret(o.Section, key) && value == Shown {
		return "this stands for a secret that is not shown"
	}
	if o.check != nil {
		return o.check(value)
	}
	known, err := auth.CheckRule(o.Section, key, value)
	switch {
	case !known:
		return "it has no effect"
	case err != nil:
		return err.Error()
	}
	return ""
}

// Unreadable returns why this node cannot read the file that a new value of an option names, or "". It is not part of
// Check: a value that was set stays in effect, so that a file that is away for a moment does not turn it off.
func (o *Option) Unreadable(value string) (why string) {
	if !o.File || value == "" {
		return ""
	}
	info, err := os.Stat(value)
	switch {
	case err != nil:
		return "this node cannot read the file: " + err.Error()
	case !info.Mode().IsRegular():
		return "it is not a file"
	}
	f, err := os.Open(value)
	if err != nil {
		return "this node cannot read the file: " + err.Error()
	}
	f.Close()
	return ""
}

// Defaults returns the options that have a default, by section and key.
func Defaults() map[string]map[string]string {
	sections := map[string]map[string]string{}
	for _, o := range All {
		if o.None || o.Fixed || o.Key == "*" {
			continue
		}
		if sections[o.Section] == nil {
			sections[o.Section] = map[string]string{}
		}
		sections[o.Section][o.Key] = o.Default
	}
	return sections
}

package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
)

// DefaultFile is read from the working directory if neither -config nor DIVAN_CONFIG names a file. It need not exist.
const DefaultFile = "node.yaml"

type shortName struct{ flag, env, path, usage string }

// shortNames are the flags, their variables and their settings, as in docs/clauses.md, "Program". Other settings have
// only the variable of their path: with a flag for each, these eight would be hard to find.
var shortNames = []shortName{
	{"config", "DIVAN_CONFIG", "", "read settings from `FILE` instead of ./node.yaml"},
	{"data", "DIVAN_DATA", "data", "keep the data in `DIR`"},
	{"http", "DIVAN_HTTP", "http.listen", "serve HTTP on `ADDR` (port 0 picks a free one)"},
	{"sql", "DIVAN_SQL", "sql.listen", "serve the Postgres protocol on `ADDR`"},
	{"gossip", "DIVAN_GOSSIP", "cluster.gossip", "gossip with other nodes on `ADDR`"},
	{"join", "DIVAN_JOIN", "cluster.join", "join the members at `ADDR,ADDR`"},
	{"name", "DIVAN_NAME", "name", "`NAME` of this node"},
	{"admin", "DIVAN_ADMIN", "", "a single admin, as `USER:PASSWORD`"},
}

// Load reads all sources. The error is flag.ErrHelp if help was asked for, and Faults if anything is wrong. lookupEnv
// is os.LookupEnv except in tests.
func Load(args []string, lookupEnv func(string) (string, bool)) (*Config, error) {
	flags := newFlagSet()
	flags.SetOutput(io.Discard) // the fault has the message; usage is printed only on request
	s := newSettings()
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		s.fault(origin{}, "", "%v", err)
	}
	for _, arg := range flags.Args() {
		s.fault(origin{}, "", "unexpected argument %q", arg)
	}
	fromFlags := map[string]string{}
	flags.Visit(func(f *flag.Flag) { fromFlags[f.Name] = f.Value.String() })

	s.readFile(fromFlags, lookupEnv)
	s.readEnv(lookupEnv)
	s.readShort(fromFlags, lookupEnv)
	s.check()
	if len(s.faults) > 0 {
		return nil, s.faults.sorted()
	}
	return s.cfg, nil
}

// Usage prints the flags.
func Usage(w io.Writer) {
	flags := newFlagSet()
	flags.SetOutput(w)
	flags.PrintDefaults()
}

func newFlagSet() *flag.FlagSet {
	flags := flag.NewFlagSet("divan", flag.ContinueOnError)
	flags.Usage = func() {}
	for _, short := range shortNames {
		flags.String(short.flag, "", fmt.Sprintf("%s [%s]", short.usage, short.env))
	}
	return flags
}

func (s *settings) readFile(fromFlags map[string]string, lookupEnv func(string) (string, bool)) {
	file, named := fromFlags["config"]
	if !named {
		file, named = lookupEnv("DIVAN_CONFIG")
	}
	if !named {
		file = DefaultFile
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return
	}
	if err != nil {
		s.fault(origin{}, "", "cannot read the configuration: %v", err)
		return
	}
	s.cfg.File = file
	s.readYAML(file, text)
}

// readEnv reads the variables of all paths, such as DIVAN_STORAGE_ENGINE.
func (s *settings) readEnv(lookupEnv func(string) (string, bool)) {
	walk(reflect.ValueOf(s.cfg).Elem(), "", func(path string, field reflect.Value) {
		name := envName(path)
		text, ok := lookupEnv(name)
		if !ok || isShort(name) {
			return
		}
		s.set(origin{name: name}, path, field, text)
	})
}

// readShort reads the eight flags and their variables.
func (s *settings) readShort(fromFlags map[string]string, lookupEnv func(string) (string, bool)) {
	for _, short := range shortNames {
		at := origin{name: "-" + short.flag}
		text, ok := fromFlags[short.flag]
		if !ok {
			at.name = short.env
			text, ok = lookupEnv(short.env)
		}
		switch {
		case !ok || short.flag == "config":
		case short.flag == "admin":
			s.setAdmin(at, text)
		default:
			walk(reflect.ValueOf(s.cfg).Elem(), "", func(path string, field reflect.Value) {
				if path == short.path {
					s.set(at, path, field, text)
				}
			})
		}
	}
}

func (s *settings) set(at origin, path string, field reflect.Value, text string) {
	s.origins[path] = at
	if err := setFromText(field, text); err != nil {
		s.fault(at, path, "%v", err)
	}
}

// setAdmin sets the admin. Its faults do not repeat text, which contains a password.
func (s *settings) setAdmin(at origin, text string) {
	name, password, ok := strings.Cut(text, ":")
	if !ok || name == "" || password == "" {
		s.fault(at, "", "expected USER:PASSWORD")
		return
	}
	s.cfg.AdminPassword = map[string]string{name: password}
}

// envName returns the variable of a path: DIVAN_STORAGE_ENGINE for storage.engine.
func envName(path string) string {
	return "DIVAN_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func isShort(env string) bool {
	return slices.ContainsFunc(shortNames, func(s shortName) bool { return s.env == env })
}

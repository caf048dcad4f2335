package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
)

// DefaultFile is read from the working directory if neither -config nor DIVAN_CONFIG names a file. It need not exist.
const DefaultFile = "node.yaml"

// Load reads all sources. The error is flag.ErrHelp if help was asked for, and Faults if anything is wrong. environment
// has lines NAME=VALUE, as os.Environ returns them.
func Load(args, environment []string) (*Config, error) {
	variables := map[string]string{}
	for _, line := range environment {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, envPrefix) {
			variables[name] = value
		}
	}
	lookupEnv := func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
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
	ignored, misspelt := checkNames(s.cfg, slices.Sorted(maps.Keys(variables)))
	s.cfg.Ignored, s.faults = ignored, append(s.faults, misspelt...)
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
	for _, f := range allFlags() {
		flags.String(f.name, "", fmt.Sprintf("%s [%s]", f.usage, f.env()))
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
		if isShort(name) {
			return
		}
		if text, at, ok := s.lookup(name, isSecret(path), lookupEnv); ok {
			s.set(at, path, field, text)
		}
	})
}

// readShort reads the flags and their short variables.
func (s *settings) readShort(fromFlags map[string]string, lookupEnv func(string) (string, bool)) {
	paths, _ := rowFlags()
	for _, f := range allFlags() {
		at := origin{name: "-" + f.name}
		text, ok := fromFlags[f.name]
		if !ok {
			text, at, ok = s.lookup(f.env(), f.name == "admin", lookupEnv)
		}
		switch {
		case !ok || f.name == "config":
		case f.name == "admin":
			s.setAdmin(at, text)
		default:
			walk(reflect.ValueOf(s.cfg).Elem(), "", func(path string, field reflect.Value) {
				if path == paths[f.name] {
					s.set(at, path, field, text)
				}
			})
		}
	}
}

// maxValueFile is more than any value needs, and less than a wrong path can cost.
const maxValueFile = 64 << 10

// lookup returns the value of a variable. A secret can also be in a file, which the variable with _FILE after its name
// names.
func (s *settings) lookup(name string, secret bool, lookupEnv func(string) (string, bool)) (text string, at origin,
	ok bool) {
	at = origin{name: name}
	text, ok = lookupEnv(name)
	file, inFile := lookupEnv(name + fileSuffix)
	if !inFile {
		return text, at, ok
	}
	at.name += fileSuffix
	switch {
	case !secret:
		s.fault(at, "", "only secrets, passwords and tokens can be in a file")
		return "", at, false
	case ok:
		s.fault(at, "", "is set together with %s", name)
		return "", at, false
	}
	content, err := ReadValue(file)
	if err != nil {
		s.fault(at, "", "cannot read the value: %v", err)
		return "", at, false
	}
	s.cfg.SecretFiles = append(s.cfg.SecretFiles, file)
	return content, at, true
}

// ReadValue reads a value from a file. The line break at its end, which every editor writes, does not belong to it.
func ReadValue(file string) (string, error) {
	f, err := os.Open(file) //nolint:gosec // the operator's own file
	if err != nil {
		return "", err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxValueFile+1))
	if err == nil && len(content) > maxValueFile {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxValueFile)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), err
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
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func isShort(env string) bool {
	return slices.ContainsFunc(allFlags(), func(f flagName) bool { return f.env() == env })
}

package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

const (
	envPrefix  = "DIVAN_"
	fileSuffix = "_FILE" // of a variable that names a file with the value
)

// notSettings are variables that commands and scripts read.
var notSettings = []string{"DIVAN_URL", "DIVAN_URL_FILE", "DIVAN_CLUSTER_FILE", "DIVAN_BINARY"}

// ofServices matches the variables that Kubernetes and Docker's links set in every container for a service or container
// whose name begins with "divan", such as DIVAN_SERVICE_HOST, DIVAN_SQL_PORT and DIVAN_PORT_5984_TCP_ADDR.
var ofServices = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)` +
	`(_(PROTO|PORT|ADDR))?|ENV_.+)$`)

// forTests matches variables of this project's tests.
var forTests = regexp.MustCompile(`^DIVAN_(TEST|CI|CRASH|KILL|FAULT|DEAD|KVTEST|BENCH)_`)

// checkNames looks for variables that are meant as settings but are none. A name that resembles a setting's, or is in a
// section of settings, is a fault, as in node.yaml. Others may belong to other programs, and are ignored.
func checkNames(c *Config, variables []string) (ignored []string, faults Faults) {
	known, sections := map[string]bool{}, []string{}
	for _, f := range allFlags() {
		known[f.env()] = true
	}
	walk(reflect.ValueOf(c).Elem(), "", func(path string, _ reflect.Value) {
		known[envName(path)] = true
		if section, _, ok := strings.Cut(path, "."); ok {
			sections = append(sections, envName(section)+"_")
		}
	})
	for _, name := range variables {
		if !strings.HasPrefix(name, envPrefix) || known[name] || known[strings.TrimSuffix(name, fileSuffix)] ||
			slices.Contains(notSettings, name) || ofServices.MatchString(name) || forTests.MatchString(name) {
			continue
		}
		nearest := nearestName(known, name)
		inSection := slices.ContainsFunc(sections, func(of string) bool { return strings.HasPrefix(name, of) })
		switch {
		case nearest != "":
			faults = append(faults, fault{at: origin{name: name}, text: "unknown setting (did you mean " + nearest +
				"? unset the variable if another program needs it)"})
		case inSection:
			faults = append(faults, fault{at: origin{name: name},
				text: "unknown setting (unset the variable if another program needs it)"})
		default:
			ignored = append(ignored, name)
		}
	}
	return ignored, faults
}

// nearestName returns the variable that a name was probably meant to be, or "".
func nearestName(known map[string]bool, name string) string {
	file := ""
	if base, ok := strings.CutSuffix(name, fileSuffix); ok {
		name, file = base, fileSuffix
	}
	word := strings.TrimPrefix(name, envPrefix)
	names := slices.Sorted(maps.Keys(known))
	best, distance := "", min(3, 1+len(word)/4) // short names that are different by two letters are other names
	for _, k := range names {
		if d := editDistance(strings.TrimPrefix(k, envPrefix), word); d < distance {
			best, distance = k, d
		}
	}
	if best == "" { // without its section
		for _, k := range names {
			if strings.HasSuffix(k, "_"+word) {
				best = k
				break
			}
		}
	}
	if best == "" {
		return ""
	}
	return best + file
}

package couchopts

import (
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/divandb/divan/node/auth"
)

// MaxValue is the maximum length of a value.
const MaxValue = 16 << 10

func checkText(string) string { return "" }

func checkBool(v string) string {
	if v != "true" && v != "false" {
		return "it is neither true nor false"
	}
	return ""
}

func checkCount(v string) string {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 1 {
		return "it is not a positive number"
	}
	return ""
}

// checkNumber is checkCount for options that may be 0.
func checkNumber(v string) string {
	if n, err := strconv.ParseInt(v, 10, 32); err != nil || n < 0 {
		return "it is not a number from 0"
	}
	return ""
}

// checkLevel checks a level of compression.
func checkLevel(v string) string {
	if n, err := strconv.Atoi(v); err != nil || n < 0 || n > 9 {
		return "it is not a number from 0 to 9"
	}
	return ""
}

// checkLimit is checkCount for options that may be "infinity".
func checkLimit(v string) string {
	if v == "infinity" {
		return ""
	}
	return checkCount(v)
}

// checkProtocols checks a list of protocols.
func checkProtocols(known ...string) func(string) string {
	return func(v string) string {
		for _, one := range Members(v) {
			if !slices.Contains(known, one) {
				return "the protocols are " + strings.Join(known, ", ")
			}
		}
		return ""
	}
}

// The ways of replications to log in, as CouchDB calls them.
const (
	SessionPlugin = "couch_replicator_auth_session"
	BasicPlugin   = "couch_replicator_auth_noop"
)

func checkPlugins(v string) string {
	list := Members(v)
	for _, one := range list {
		if one != SessionPlugin && one != BasicPlugin {
			return "there are only " + SessionPlugin + " and " + BasicPlugin
		}
	}
	if len(list) == 0 {
		return "it names no way to log in"
	}
	return ""
}

func checkReduceLimit(v string) string {
	if v == "log" {
		return ""
	}
	return checkBool(v)
}

func checkAlgorithm(v string) string {
	return checkOneOf(v, "sequential", "random", "utc_random", "utc_id")
}

func checkSecurity(v string) string { return checkOneOf(v, "admin_only", "admin_local", "everyone") }

func checkOneOf(v string, known ...string) string {
	if !slices.Contains(known, v) {
		return "it is none of " + strings.Join(known, ", ")
	}
	return ""
}

// checkWhole checks a number of any sign.
func checkWhole(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err != nil {
		return "it is not a whole number"
	}
	return ""
}

// logLevels are CouchDB's, with those of this server.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo,
	"warning": slog.LevelWarn, "warn": slog.LevelWarn,
	"error": slog.LevelError, "err": slog.LevelError,
	"critical": logNothing, "crit": logNothing, "alert": logNothing, "emergency": logNothing, "emerg": logNothing,
	"none": logNothing,
}

// logNothing is above all levels that this server uses.
const logNothing = slog.Level(math.MaxInt32)

// LogLevel returns the level of a value of log/level.
func LogLevel(value string) slog.Level { return logLevels[value] }

func checkLogLevel(v string) string {
	if _, ok := logLevels[v]; !ok {
		return "it is none of debug, info, notice, warning, error, critical, alert, emergency, none"
	}
	return ""
}

func checkPath(v string) string {
	if v != "" && (!strings.HasPrefix(v, "/") || strings.HasPrefix(v, "//") || strings.ContainsAny(v, "\\?# ")) {
		return "it is not a path on this server"
	}
	return ""
}

func checkMethods(v string) string { return auth.CheckMethods(Members(v)) }
func checkHeaders(v string) string { return auth.CheckHeaders(Members(v)) }

// Members splits a comma-separated option, keeping empty members. An empty option has no members.
func Members(v string) []string {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	list := strings.Split(v, ",")
	for i, one := range list {
		list[i] = strings.TrimSpace(one)
	}
	return list
}

//go:build !fdb

package fdb

import (
	"context"
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// Available reports whether this binary has the engine.
const Available = false

// Open fails: this binary was built without the engine.
func Open(Options) (kv.Engine, error) { return nil, errUnavailable }

var errUnavailable = errors.New("this binary has no FoundationDB engine: install FoundationDB's client library 7.3 " +
	"and its headers, " +
	"then build with scripts/build-fdb, or CGO_ENABLED=1 go build -tags fdb -o bin/divan ./node/cmd/divan")

// OpenDirectory fails like Open.
func OpenDirectory(context.Context, kv.Engine, []string) ([]byte, error) { return nil, errUnavailable }

// FindDirectory fails like Open.
func FindDirectory(context.Context, kv.Engine, []string) ([]byte, bool, error) {
	return nil, false, errUnavailable
}

//go:build !fdb

package fdb

import (
	"errors"

	"github.com/divandb/divan/layer/kv"
)

// Available tells whether this binary has the engine.
const Available = false

// Open fails: this binary was built without the engine.
func Open(Options) (kv.Engine, error) {
	return nil, errors.New("this binary has no FoundationDB engine: install FoundationDB's client library 7.3 and its headers, " +
		"then build with CGO_ENABLED=1 go build -tags fdb -o bin/divan ./node/cmd/divan")
}

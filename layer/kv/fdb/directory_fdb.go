//go:build fdb

package fdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/apple/foundationdb/bindings/go/src/fdb/directory"

	"github.com/divandb/divan/layer/kv"
)

// directoryLayer marks a directory as Divan's: the directory layer then refuses it to other applications, and theirs
// to Divan.
const directoryLayer = "divan"

// OpenDirectory returns the prefix of a directory of FoundationDB's directory layer, and creates the directory if
// necessary. Other users of that layer in the cluster have other prefixes. It fails if the directory belongs to
// another application.
func OpenDirectory(ctx context.Context, e kv.Engine, path []string) (prefix []byte, err error) {
	err = inDirectories(ctx, e, func(tr fdb.Transaction) error {
		d, err := directory.CreateOrOpen(tr, path, []byte(directoryLayer))
		if err == nil {
			prefix, err = prefixOf(d)
		}
		return err
	})
	return prefix, describe(path, err)
}

// FindDirectory is OpenDirectory without creating anything: found is false if the directory does not exist.
func FindDirectory(ctx context.Context, e kv.Engine, path []string) (prefix []byte, found bool, err error) {
	err = inDirectories(ctx, e, func(tr fdb.Transaction) error {
		var err error
		if found, err = directory.Exists(tr, path); err != nil || !found {
			return err
		}
		d, err := directory.Open(tr, path, []byte(directoryLayer))
		if err == nil {
			prefix, err = prefixOf(d)
		}
		return err
	})
	return prefix, found && err == nil, describe(path, err)
}

// prefixOf returns the directory's prefix. It refuses a partition, which has no keys of its own.
func prefixOf(d directory.DirectorySubspace) ([]byte, error) {
	if string(d.GetLayer()) == "partition" {
		return nil, errors.New("it is a partition; name a directory in it")
	}
	return d.Bytes(), nil
}

func describe(path []string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("FoundationDB directory %s: %w", strings.Join(path, "/"), err)
}

// inDirectories runs f in transactions until one commits. The directory layer needs the binding's transaction, so
// kv.Transact cannot be used.
func inDirectories(ctx context.Context, e kv.Engine, f func(tr fdb.Transaction) error) error {
	engine, ok := e.(*engine)
	if !ok {
		return fmt.Errorf("the engine is %s", e.Name())
	}
	tx := engine.Begin(ctx).(*transaction)
	defer tx.Cancel()
	if err := tx.err(); err != nil {
		return err
	}
	for {
		err := f(tx.tr)
		if err == nil {
			err = tx.tr.Commit().Get()
		}
		var code fdb.Error
		if err == nil || !errors.As(err, &code) {
			return err
		}
		if err := tx.tr.OnError(code).Get(); err != nil { // waits, if another attempt is worthwhile
			return convert(ctx, err)
		}
	}
}

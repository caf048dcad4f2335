package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/node/config"
)

// backups copies the node's store to directories below root.
type backups struct {
	engine kv.Engine
	root   string
	log    *slog.Logger
}

// Backup implements api.Backups. Copies are written only below storage.backups: a database administrator need not own
// the machine, and must not be able to create or discover directories elsewhere on it.
//
// The copy is written under a temporary name and renamed when it is complete, so a directory with the final name is
// always a whole backup.
func (b backups) Backup(ctx context.Context, name string) (dir string, err error) {
	copier, ok := b.engine.(kv.Checkpointer)
	if !ok {
		return "", &layer.Error{Kind: layer.NotImplemented,
			Reason: "FoundationDB is backed up by its own tools: use fdbbackup."}
	}
	root, err := filepath.Abs(b.root)
	if err != nil {
		return "", err
	}
	if dir, err = backupDir(root, name); err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", backupError(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		return "", errBackupExists(dir)
	}
	part, unlock, err := makeUnfinished(root)
	if err != nil {
		return "", backupError(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
		err = errors.Join(err, unlock())
	}()
	if err := copier.Checkpoint(ctx, filepath.Join(part, storeDir)); err != nil {
		return "", backupError(err)
	}
	if err := os.Rename(part, dir); err != nil {
		if errors.Is(err, os.ErrExist) { // created meanwhile
			return "", errBackupExists(dir)
		}
		return "", backupError(err)
	}
	if err := syncDir(root); err != nil {
		return "", backupError(err)
	}
	b.log.Info("the store was backed up", "directory", dir)
	return dir, nil
}

// backupRoot returns the directory for backups. A node that uses another node's store asks that node to write the
// backup here, which works because both run on the same machine.
func backupRoot(c *config.Config) string {
	if c.Storage.Backups != "" {
		return c.Storage.Backups
	}
	return filepath.Join(c.Data, "backups")
}

// backupDir resolves name, either a base name or a full path, to a directory directly below root.
func backupDir(root, name string) (string, error) {
	dir := name
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, name)
	}
	base := filepath.Base(dir)
	if filepath.Dir(dir) != root || strings.HasPrefix(base, ".") || strings.ContainsRune(name, 0) || len(base) > 200 {
		return "", &layer.Error{
			Kind: layer.Invalid,
			Reason: fmt.Sprintf("directory must be a name, such as 2026-11-21, or a path in %s, which is "+
				"storage.backups.", root),
		}
	}
	return dir, nil
}

func errBackupExists(dir string) error {
	return &layer.Error{Kind: layer.Exists, Reason: fmt.Sprintf("The directory %s exists already.", dir)}
}

// backupError adds advice to an error of the engine or the file system. It may contain paths: only an admin can ask for
// a backup.
func backupError(err error) error {
	var engine *kv.Error
	if errors.As(err, &engine) && engine.Code == kv.CodeFileCorrupt {
		return &layer.Error{Kind: layer.Unavailable, Name: "store_damaged",
			Reason: "No backup was made: " + engine.Message +
				". Run `divan verify` to find the affected databases and documents. Keep your existing backups."}
	}
	return &layer.Error{Kind: layer.Unavailable, Name: "backup_failed", Reason: "The backup failed: " + err.Error(),
		Err: err}
}

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files in the data directory. Both have hashes by name; null is for a configured admin that was deleted.
const (
	// oldAdminsFile has the admins that were set at run time by a version that kept them on each node.
	oldAdminsFile = "admins.json"
	// adminsCopy is this node's copy of those that the store has: before the store is open, it tells whether there are
	// any, and a node whose store is damaged there uses it.
	adminsCopy = "admins-copy.json"
)

// StoredAdmins reports whether an admin that was set at run time is known in the data directory dir.
func StoredAdmins(dir string) (bool, error) {
	for _, file := range []string{adminsCopy, oldAdminsFile} {
		changed, err := readAdmins(filepath.Join(dir, file))
		if err != nil {
			return false, err
		}
		for _, hash := range changed {
			if hash != nil {
				return true, nil
			}
		}
	}
	return false, nil
}

// AdminsCopy returns the copy in the data directory dir.
func AdminsCopy(dir string) (map[string]*string, error) {
	return readAdmins(filepath.Join(dir, adminsCopy))
}

// KeepAdminsCopy replaces the copy.
func KeepAdminsCopy(dir string, changed map[string]*string) error {
	text, err := json.MarshalIndent(changed, "", "  ")
	if err == nil {
		err = writeFile(filepath.Join(dir, adminsCopy), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the copy of the admins: %w", err)
	}
	return nil
}

// OldAdmins returns the admins of an earlier version, which the caller takes over, and a function that says that this
// is done. Without a file they are nil.
func OldAdmins(dir string) (changed map[string]*string, taken func() error, err error) {
	file := filepath.Join(dir, oldAdminsFile)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, func() error { return nil }, nil
	}
	changed, err = readAdmins(file)
	if err == nil {
		_, err = mergeAdmins(nil, changed)
	}
	return changed, func() error {
		if err := os.Rename(file, file+".taken"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}, err
}

func readAdmins(file string) (map[string]*string, error) {
	changed := map[string]*string{}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return changed, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &changed)
	}
	if err != nil {
		return nil, fmt.Errorf("read the admins set at run time: %w", err)
	}
	return changed, nil
}

// writeFile atomically and durably replaces a file that only its owner can read.
func writeFile(name string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails, harmlessly, after the rename
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

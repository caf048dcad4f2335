package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// isDenied reports whether the system did not let this process read or write a file. That says nothing about what is in
// the file.
func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// explainDenied says what to do about a file that the system did not let this process use. Other errors are returned as
// they are.
func explainDenied(err error) error {
	if !isDenied(err) {
		return err
	}
	hint := fmt.Sprintf("let the user that runs this (uid %d) read and write all files of the store, or run it as their owner", os.Geteuid())
	if errors.Is(err, syscall.EROFS) {
		hint = "the file system is mounted read-only; remount it for writing, or use what only reads: divan check -deep, divan export -data"
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

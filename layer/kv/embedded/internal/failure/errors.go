package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/divandb/divan/layer/kv"
)

var (
	ErrClosed     = kv.NewError(kv.CodeCancelled, "the store is closed", nil)
	ErrCancelled  = kv.NewError(kv.CodeCancelled, "the transaction was cancelled", nil)
	errTimedOut   = kv.NewError(kv.CodeTimedOut, "the transaction's deadline passed", nil)
	ErrTooOld     = kv.NewError(kv.CodeTooOld, "the transaction's read version is no longer held", nil)
	ErrFuture     = kv.NewError(kv.CodeFutureVersion, "the read version has not been handed out yet", nil)
	ErrReadOnly   = kv.NewError(kv.CodeClientInvalid, "the store is open for reading only", nil)
	ErrUnreadable = kv.NewError(kv.CodeAccessedUnreadable,
		"the key is set from this transaction's own versionstamp", nil)
)

// OfContext returns the engine's error for an ended context.
func OfContext(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errTimedOut
	}
	return ErrCancelled
}

// LostError means that the files at the store's path may now belong to another engine.
type LostError struct{ text string }

// Lost returns a LostError.
func Lost(text string) error { return &LostError{text} }

func (e *LostError) Error() string { return e.text }

// IsDiskFull reports whether err means that the disk or a quota is full.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsUnwritable reports whether err means that nothing can be written now, for a reason that the operator can remove
// while the store is open.
func IsUnwritable(err error) bool {
	return IsDiskFull(err) || IsDenied(err)
}

// IsDenied reports whether the system refused this process access to a file. That says nothing about the file's
// content.
func IsDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// ExplainDenied adds advice to an error for which IsDenied is true. It returns other errors unchanged.
func ExplainDenied(err error) error {
	if !IsDenied(err) {
		return err
	}
	hint := fmt.Sprintf("let the user that runs this (uid %d) read and write all files of the store, or run it as "+
		"their owner", os.Geteuid())
	if errors.Is(err, syscall.EROFS) {
		hint = "the file system is mounted read-only; remount it for writing, or use read-only commands: divan check " +
			"-deep, divan export -data"
	}
	return fmt.Errorf("%w (%s)", err, hint)
}

// IsDamage reports whether err means that bytes on disk differ from what was written, or cannot be read.
func IsDamage(err error) bool {
	return pebble.IsCorruptionError(err) || errors.Is(err, syscall.EIO)
}

// errDamaged is the error of a read that meets damage. It is final for the transaction, not for the store.
func errDamaged(err error) *kv.Error {
	return kv.NewError(kv.CodeFileCorrupt, "the requested data is damaged on disk", Brief(err))
}

// Brief returns err without the details that Pebble appends on further lines.
func Brief(err error) error { return firstLine{err} }

// firstLine is an error reduced to the first line of its text.
type firstLine struct{ error }

func (l firstLine) Error() string {
	text, _, _ := strings.Cut(l.error.Error(), "\n")
	return text
}

func (l firstLine) Unwrap() error { return l.error }

// OfRead returns the engine's error for a disk error during a read. It is final for the transaction, not for the
// store.
func OfRead(err error) error {
	if IsDamage(err) {
		return errDamaged(err)
	}
	if IsDenied(err) {
		return kv.NewError(kv.CodeIOError, "this process has no permission to read a file of the store", err)
	}
	return kv.NewError(kv.CodeIOError, "the disk failed while reading", err)
}

// Damaged returns the error for the operator when a store cannot be opened as it is.
func Damaged(dir string, what error) error {
	if IsDenied(what) {
		return fmt.Errorf("embedded: the store in %s cannot be opened: %w", dir, what)
	}
	return fmt.Errorf("embedded: the store in %s is damaged: %w; nothing in it was changed; restore a backup, "+
		"bring back the missing files, or save "+
		"the readable data: `divan export -skip-damaged -data DIR DATABASE FILE`", dir, Brief(what))
}

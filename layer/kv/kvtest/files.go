package kvtest

import (
	"errors"
	"os"
	"testing"
)

// Spoilings are the kinds of damage that Spoil can do.
var Spoilings = []string{"missing", "cut", "changed"}

// Spoil removes a file of a store, truncates it in the middle, or changes a byte there.
func Spoil(tb testing.TB, path, fault string) {
	tb.Helper()
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	switch fault {
	case "missing":
		err = os.Remove(path)
	case "cut":
		err = os.Truncate(path, info.Size()/2)
	case "changed":
		FlipAt(tb, path, info.Size()/2)
	default:
		tb.Fatalf("unknown kind of damage %q", fault)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// FlipAt inverts a byte of a file in place, visible to processes that have it open. A second call restores it.
func FlipAt(tb testing.TB, path string, at int64) {
	tb.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	b := make([]byte, 1)
	_, readErr := f.ReadAt(b, at)
	b[0] ^= 0x10
	_, writeErr := f.WriteAt(b, at)
	if err := errors.Join(readErr, writeErr, f.Close()); err != nil {
		tb.Fatal(err)
	}
}

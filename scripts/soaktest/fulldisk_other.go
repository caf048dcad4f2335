//go:build !linux

package main

import (
	"context"
	"errors"
)

func needsMount(context.Context, *environment) string { return "it mounts a file system, on Linux" }

func runFullDisk(context.Context, *environment, *tally) error { return errors.ErrUnsupported }

//go:build !linux

package main

import (
	"context"
	"errors"
)

func needsNamespaces(context.Context, *environment) string {
	return "it uses network namespaces, on Linux"
}

func runPartitions(context.Context, *environment, *tally) error { return errors.ErrUnsupported }

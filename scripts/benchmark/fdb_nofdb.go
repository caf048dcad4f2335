//go:build !fdb

package main

import (
	"context"
	"errors"
)

func runFDB(context.Context, *environment, *table) error {
	return errors.New("this benchmark was built without FoundationDB; scripts/bench fdb builds it with it")
}

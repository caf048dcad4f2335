//go:build !unix

package e2e_test

import (
	"errors"
	"os"
)

// Processes cannot be paused on these systems: sending this fails, and with it the test.
var stopSignal, continueSignal = os.Interrupt, os.Interrupt

func lockDirectory(*os.File) error { return errors.ErrUnsupported }

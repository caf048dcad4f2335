//go:build !unix

package cluster_test

import "os"

// Processes cannot be paused on these systems: sending this fails, and with it the test.
var stopSignal, continueSignal = os.Interrupt, os.Interrupt

//go:build !faults

package db

import "time"

// wallClock returns the time of this machine.
func wallClock() time.Time { return time.Now() }

//go:build !faults

package db

import "time"

// wallClock is this machine's.
func wallClock() time.Time { return time.Now() }

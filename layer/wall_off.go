//go:build !faults

package layer

import "time"

// wallClock is this machine's.
func wallClock() time.Time { return time.Now() }

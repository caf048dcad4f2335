package turns

import "time"

var start = time.Now()

// Now returns the nanoseconds since the program began, by the monotonic clock.
func Now() int64 { return int64(time.Since(start)) + 1 }

package turns

import "time"

var start = time.Now()

// Now is the time in nanoseconds since the program began, by a clock that is never set back.
func Now() int64 { return int64(time.Since(start)) + 1 }

//go:build !unix

package embedded_test

import "time"

var began = time.Now()

// cpuTime returns the time since the start: these systems do not say how much of it the process has used.
func cpuTime() time.Duration { return time.Since(began) }

//go:build !unix

package script_test

import "time"

var began = time.Now()

// cpu returns the time since the start: these systems do not say how much of it the process has used.
func cpu() time.Duration { return time.Since(began) }

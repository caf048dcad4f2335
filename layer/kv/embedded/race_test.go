package embedded_test

import "testing"

// oneGoroutine leaves a long test out under the race detector, which makes it ten times longer and has nothing to find
// where one goroutine works, or several as in other tests.
func oneGoroutine(tb testing.TB) {
	tb.Helper()
	if raceDetector {
		tb.Skip("long, and not for the race detector")
	}
}

package query_test

import "testing"

// oneGoroutine skips a long test under the race detector, which makes it ten times slower and finds nothing in it: it
// uses one goroutine, or several in the same way as other tests.
func oneGoroutine(tb testing.TB) {
	tb.Helper()
	if raceDetector {
		tb.Skip("long, and not for the race detector")
	}
}

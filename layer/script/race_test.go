package script_test

import "testing"

// oneGoroutine skips a long test under the race detector, which makes it ten times slower and has nothing to find if
// one goroutine works, or several as in other tests.
func oneGoroutine(tb testing.TB) {
	tb.Helper()
	if raceDetector {
		tb.Skip("too long under the race detector")
	}
}

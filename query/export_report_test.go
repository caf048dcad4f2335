package query

import (
	"testing"
	"time"
)

// ReportEvery sets how often statements that run are described, for one test.
func ReportEvery(tb testing.TB, period time.Duration) {
	was := reportEvery
	reportEvery = period
	tb.Cleanup(func() { reportEvery = was })
}

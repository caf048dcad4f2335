//go:build faults

package db

import (
	"os"
	"strings"
	"time"
)

// wallClock is wrong by as much as the file "clock" in the working directory says, such as "1h", in binaries that are
// built for tests.
func wallClock() time.Time {
	text, _ := os.ReadFile("clock") //nolint:errcheck // without it the clock is right
	wrong, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return time.Now().Add(wrong)
}

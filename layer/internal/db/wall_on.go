//go:build faults

package db

import (
	"os"
	"strings"
	"time"
)

// wallClock returns a wrong time, in binaries built for tests: the file "clock" in the working directory says by how
// much, for example "1h".
func wallClock() time.Time {
	text, _ := os.ReadFile("clock") //nolint:errcheck // without the file, the clock is right
	wrong, _ := time.ParseDuration(strings.TrimSpace(string(text)))
	return time.Now().Add(wrong)
}

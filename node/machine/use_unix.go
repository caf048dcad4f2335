//go:build unix

package machine

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ProcessUse returns the processor time that the process has used, and its resident memory in bytes, 0 if unknown.
func ProcessUse() (used time.Duration, resident int64, ok bool) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0, false
	}
	used = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	if text, err := os.ReadFile("/proc/self/statm"); err == nil { // Linux
		if fields := bytes.Fields(text); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			resident = pages * int64(os.Getpagesize())
		}
	}
	return used, resident, true
}

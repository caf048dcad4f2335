//go:build !linux

package turns

func thread() int { return 1 }

// threadTime is the clock's: where threads cannot be asked, a call that waits for a processor counts as running.
func threadTime(int) int64 { return Now() }

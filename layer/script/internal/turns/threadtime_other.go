//go:build !linux

package turns

func thread() int { return 1 }

// threadTime returns the clock's time: on this system, a call that waits for a processor counts as running.
func threadTime(int) int64 { return Now() }

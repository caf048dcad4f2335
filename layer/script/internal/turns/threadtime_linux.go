package turns

import (
	"syscall"
	"unsafe"
)

// thread returns the operating system's number of the current thread.
func thread() int { return syscall.Gettid() }

// threadTime returns the processor time in nanoseconds that a thread of this process has used; Now() if the system
// does not tell.
func threadTime(id int) int64 {
	const perThread, scheduled = 4, 2 // bits of a thread's clock, see clock_getcpuclockid
	clock := int32(^id<<3 | perThread | scheduled)
	var t syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)),
		0); e != 0 {
		return Now()
	}
	return t.Nano()
}

package turns

import (
	"syscall"
	"unsafe"
)

// thread is the operating system's number of the current thread.
func thread() int { return syscall.Gettid() }

// threadTime is the processor time in nanoseconds that a thread of this process has used; Now() where the system does
// not tell.
func threadTime(id int) int64 {
	const perThread, scheduled = 4, 2 // of a clock that is a thread's, see clock_getcpuclockid
	clock := int32(^id<<3 | perThread | scheduled)
	var t syscall.Timespec
	if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&t)),
		0); e != 0 {
		return Now()
	}
	return t.Nano()
}

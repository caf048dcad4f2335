package machine

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// The watch is tested from inside: nothing else can give a process little memory without giving the tests little.
func TestMemoryWatch(t *testing.T) {
	used := int64(0)
	var told []bool
	w := &MemoryWatch{limit: 1000 << 20, used: func() int64 { return used },
		tell: func(short bool) { told = append(told, short) }}
	for _, step := range []struct {
		used int64 // MB
		want string
	}{
		{700, "[]"}, {899, "[]"}, {900, "[true]"}, {950, "[true]"}, {850, "[true]"}, {800, "[true]"},
		{799, "[true false]"}, {850, "[true false]"}, {1200, "[true false true]"},
	} {
		used = step.used << 20
		w.Look()
		if got := fmt.Sprint(told); got != step.want {
			t.Fatalf("%d MB in use: told %s, want %s", step.used, got, step.want)
		}
		if short := strings.HasSuffix(step.want, "true]"); short != (len(w.Degraded()) == 1) {
			t.Errorf("%d MB in use: degraded by %q", step.used, w.Degraded())
		}
	}
	if got := w.Degraded()[0]; !strings.HasPrefix(got, "memory_short: 1200 of the 1000 MB ") {
		t.Errorf("degraded by %q", got)
	}
	unknown := &MemoryWatch{used: func() int64 { return 1 << 40 }}
	if unknown.Look(); unknown.Degraded() != nil {
		t.Error("short without a limit")
	}
}

// Memory in use is counted, and garbage is not.
func TestMemoryInUse(t *testing.T) {
	const size = 64 << 20
	used := memoryInUse()
	runtime.GC()
	before := used()
	held := make([]byte, size)
	for i := range held {
		held[i] = 1
	}
	runtime.GC() // counts what is live
	if grown := used() - before; grown < size/2 || grown > 2*size {
		t.Errorf("%d bytes more in use, with %d more held", grown, size)
	}
	runtime.KeepAlive(held)
	runtime.GC()
	if grown := used() - before; grown > size/2 {
		t.Errorf("%d bytes more in use, with nothing more held", grown)
	}
	if limit := memoryLimit(); limit < 256<<20 {
		t.Errorf("the process may use %d bytes", limit)
	}
}

package replicate

import (
	"testing"
	"testing/synctest"
	"time"
)

// A job that was taken over from a node that is dead, which the members do not know yet, is not left to that node.
func TestShare_leave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := share{owns: func(string) bool { return false }, left: map[string]time.Time{}}
		r := &run{began: time.Now(), yield: make(chan struct{}), continuous: true, copying: true, elsewhere: true}
		running := map[string]*run{"job": r}
		for range 5 {
			s.leave(running, 1)
			if r.yields {
				t.Fatalf("it was left after %v", time.Since(r.began))
			}
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		if s.leave(running, 1); !r.yields {
			t.Error("it was not left to its owner")
		}
	})
}

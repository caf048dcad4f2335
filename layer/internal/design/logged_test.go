package design

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A design document that cannot be used is named once, even if there are more of them than are remembered and all are
// listed again and again.
func TestLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l logged
		round := func() (news int) {
			for i := range maxLogged + 500 {
				if l.isNew(Key{database: 1, id: fmt.Sprint(i)}) {
					news++
				}
			}
			return news
		}
		for i, want := range []int{maxLogged, 0, 0} {
			if n := round(); n != want {
				t.Errorf("round %d: %d are new, want %d", i, n, want)
			}
		}
		time.Sleep(loggedFor)
		if n := round(); n == 0 || n > maxLogged {
			t.Errorf("a day later: %d are new", n)
		}
	})
}

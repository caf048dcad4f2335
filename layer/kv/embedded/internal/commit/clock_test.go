package commit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(0)
		first := c.next()
		if now := time.Now().UnixMicro(); first < now || first > now+1 {
			t.Errorf("the first version is %d at %d", first, now)
		}
		time.Sleep(3 * time.Second)
		if d := c.next() - first; d != 3_000_000 {
			t.Errorf("%d versions in 3 seconds", d)
		}
		last := c.next()
		for range 1000 {
			v := c.next()
			if v <= last {
				t.Fatalf("%d after %d", v, last)
			}
			last = v
		}
		// The store's last version is ahead of the wall clock, which was set back.
		ahead := last + 3600*1_000_000
		c = newClock(ahead)
		if v := c.next(); v != ahead+1 {
			t.Errorf("%d after %d in the store", v, ahead)
		}
		time.Sleep(time.Second)
		if d := c.next() - ahead; d < 1_000_000 || d > 1_000_010 {
			t.Errorf("%d versions in a second after the wall clock was set back", d)
		}
	})
}

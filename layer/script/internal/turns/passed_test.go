package turns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// A database that has used some time gets its turn even if any number of new databases compete.
func TestTurns_fresh(t *testing.T) {
	s := New(1, 4, time.Minute, nil)
	open := func(name string) *Turn {
		return s.Open(Charge(context.Background(), name, Interactive), [32]byte{})
	}
	n := Now()
	used := open("used")
	used.account.used.add(n, 0.1)
	s.enqueue(used, false, n)
	for i := range 100 { // within a second, little of the used time is forgotten
		fresh := open(fmt.Sprint("fresh ", i))
		s.enqueue(fresh, false, n)
		s.dispatch(n)
		if used.runs {
			return
		}
		if !fresh.runs {
			t.Fatal("no call has the turn")
		}
		<-fresh.granted
		fresh.halt()
		n += int64(slice)
	}
	t.Error("it is still waiting")
}

// The error of a call that waited too long says whose functions kept the processors busy.
func TestTurns_whoIsBusy(t *testing.T) {
	for _, c := range []struct {
		used float64
		want string
	}{{0.01, "many databases"}, {10, "this database"}} {
		s := New(1, 4, 10*time.Millisecond, nil)
		open := func(name string) *Turn {
			return s.Open(Charge(context.Background(), name, Query), [32]byte{})
		}
		n := Now()
		s.enqueue(open("running"), false, n)
		s.dispatch(n)
		waits := open("waits")
		waits.account.used.add(n, c.used)
		var busy *BusyError
		if err := waits.Begin(); !errors.As(err, &busy) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %v s: %v", c.used, err)
		}
	}
}

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

// A call that waits until a long call of its database ends does not keep that one from going on, of whatever class it
// is.
func TestTurns_noRoom(t *testing.T) {
	for class := range classes {
		t.Run(class.String(), func(t *testing.T) {
			s := New(2, 16, time.Minute, nil)
			open := func(class Class) *Turn {
				return s.Open(Charge(context.Background(), "db", class), [32]byte{})
			}
			n := Now()
			var paused []*Turn
			for range s.share {
				long := open(Background)
				long.long.Store(true)
				s.enqueue(long, false, n)
				s.dispatch(n)
				if <-long.granted; !long.begun {
					t.Fatal("a long call has not begun")
				}
				long.halt()
				paused = append(paused, long)
			}
			for _, long := range paused {
				s.enqueue(long, true, n)
			}
			waits := open(class)
			waits.long.Store(true)
			s.enqueue(waits, false, n)
			for range paused { // each runs once more and ends
				s.dispatch(n)
				var runs *Turn
				for _, long := range append(paused, waits) {
					if long.runs {
						runs = long
					}
				}
				if runs == waits {
					return
				}
				if runs == nil {
					t.Fatal("no call has the turn")
				}
				<-runs.granted
				runs.halt()
				runs.forget()
			}
			if class > Background {
				t.Error("a call of a higher class is still waiting")
			}
		})
	}
}

// A call that needs a new runtime gets one though paused calls of its database, which have theirs, go on all the time.
func TestTurns_newRuntime(t *testing.T) {
	s := New(2, 16, time.Minute, nil)
	open := func(program byte) *Turn {
		return s.Open(Charge(context.Background(), "db", Background), [32]byte{program})
	}
	n := Now()
	var slow []*Turn // builds, each with long calls one after the other
	for i := range byte(2) {
		long := open(i)
		long.long.Store(true)
		slow = append(slow, long)
		s.enqueue(long, false, n)
	}
	s.dispatch(n)
	waits := open(9)
	waits.long.Store(true)
	s.enqueue(waits, false, n)
	for range 1000 { // ten seconds
		n += int64(slice)
		for _, long := range slow {
			if !long.runs {
				continue
			}
			<-long.granted
			long.halt()
			if n/int64(slice)%5 == 0 { // its document is done, and it begins with the next
				long.forget()
				s.mu.idle[long.program]++
				s.enqueue(long, false, n)
			} else {
				s.enqueue(long, true, n)
			}
			s.dispatch(n)
			if long.runs && !long.begun {
				t.Fatal("a long call has not begun")
			}
			break
		}
		for _, long := range slow {
			if long.runs && s.mu.idle[long.program] > 0 {
				s.mu.idle[long.program]-- // it uses it again
			}
		}
		if waits.runs {
			return
		}
	}
	t.Error("it is still waiting")
}

// While a database's index with a slow function is built, its other functions begin at once.
func TestTurns_classes(t *testing.T) {
	s := New(2, 16, time.Minute, nil)
	open := func(class Class) *Turn {
		return s.Open(Charge(context.Background(), "db", class), [32]byte{})
	}
	n := Now()
	slow := open(Background)
	s.enqueue(slow, false, n)
	s.dispatch(n)
	<-slow.granted
	slow.ran = int64(time.Second)
	slow.account.did[Background].used.add(n, 1)
	slow.account.used.add(n, 1)
	if !s.beginLong(slow, n) {
		t.Fatal("it is no long call")
	}
	for class, begins := range map[Class]bool{Query: true, Interactive: true, Background: false} {
		other := open(class)
		s.enqueue(other, false, n)
		if s.dispatch(n); other.runs != begins {
			t.Errorf("beside a slow build, a call of class %s runs: %v", class, other.runs)
		}
		if other.runs {
			other.halt()
		} else {
			s.dequeue(other)
		}
	}
}

// Many calls one after the other, each shorter than a slice, give the turn to others after a slice, though processor
// time is charged in between.
func TestTurn_Spent(t *testing.T) {
	s := New(1, 4, time.Minute, nil)
	open := func() *Turn { return s.Open(Charge(context.Background(), "db", Background), [32]byte{}) }
	runs := open()
	if err := runs.Begin(); err != nil {
		t.Fatal(err)
	}
	defer runs.End()
	waits := open()
	s.mu.Lock()
	s.enqueue(waits, false, Now())
	s.mu.Unlock()
	for began := time.Now(); !runs.Spent(); runs.Called() {
		if time.Since(began) > 20*slice {
			t.Fatal("it goes on for ever")
		}
		time.Sleep(slice / 4)
		s.mu.Lock()
		s.charge(runs, Now()) // as Ask does in the middle of a call
		s.mu.Unlock()
	}
}

// However many databases have calls that begin as long ones, all of them are looked at once for each call that is
// chosen, not once for each of them.
func TestTurns_heaviest(t *testing.T) {
	s := New(2, 4, time.Minute, nil)
	n := Now()
	accounts := make([]*account, 5)
	for i, used := range []float64{3, 1, 5, 4, 9} {
		x := s.Open(Charge(context.Background(), fmt.Sprint(i), Background), [32]byte{})
		accounts[i] = x.account
		x.account.used.add(n, used)
		if i < 4 { // the last one waits, and is not paused
			x.long.Store(true)
			x.count()
		}
		s.enqueue(x, i < 4, n)
	}
	h := &heaviest{turns: s, now: n}
	for _, c := range []struct {
		of   string
		a    *account
		want *account
	}{
		{"anybody", nil, accounts[2]}, {"one that has used less", accounts[1], accounts[2]},
		{"the heaviest one", accounts[2], nil}, {"the next one", accounts[3], accounts[2]},
		{"one that has used more", accounts[4], nil},
	} {
		if got := h.than(c.a); got != c.want {
			t.Errorf("than %s: %v, want %v", c.of, got, c.want)
		}
	}
	s.mu.waiting = nil // it does not look again
	if h.than(nil) != accounts[2] {
		t.Error("it has looked again")
	}
}

package cluster_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Messages arrive in order with their sender's name. Sending to a stopped member does not block, and messages arrive
// again when it continues.
func TestSend(t *testing.T) {
	o := options(t, "one")
	o.Secret = "a shared secret of members"
	here := &inbox{}
	o.Receive = here.add
	c := started(t, o)
	two := startProcess(t, memberSpec{Name: "two", Secret: o.Secret, Join: []string{c.Addr()}})
	sees(t, c, "one=alive two=alive")
	sees(t, two, "one=alive two=alive")

	theirs := func() (list []string) {
		if err := two.call("Inbox", 0, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	// Placement, which messages depend on, is updated a moment later.
	eventually(t, 10*time.Second, func() string {
		c.Send("two", []byte("are you there"))
		if len(theirs()) == 0 {
			return "nothing arrives"
		}
		return ""
	})
	var want []string
	for i := range 500 {
		c.Send("two", fmt.Append(nil, i))
		want = append(want, fmt.Sprint("one: ", i))
	}
	eventually(t, 10*time.Second, func() string {
		got := slices.DeleteFunc(theirs(), func(m string) bool { return m == "one: are you there" })
		if !slices.Equal(got, want) {
			return fmt.Sprintf("%d of %d messages", len(got), len(want))
		}
		return ""
	})
	if err := two.call("Send", [2]string{"one", "back"}, new(int)); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, func() string {
		if got := here.list(); !slices.Equal(got, []string{"two: back"}) {
			return fmt.Sprintf("received %q", got)
		}
		return ""
	})
	c.Send("one", []byte("to itself"))
	c.Send("three", []byte("to a missing member"))

	two.signal(stopSignal)
	begin := time.Now()
	for range 20_000 {
		c.Send("two", []byte("while it stands still"))
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("sending to a paused member took %v", took)
	}
	sees(t, c, "one=alive two=left")
	two.signal(continueSignal)
	sees(t, c, "one=alive two=alive")
	eventually(t, 20*time.Second, func() string {
		c.Send("two", []byte("again"))
		if got := theirs(); !strings.HasSuffix(got[len(got)-1], "again") {
			return fmt.Sprintf("the last of %d messages is %q", len(got), got[len(got)-1])
		}
		return ""
	})
	if got := here.list(); len(got) != 1 {
		t.Errorf("received %q", got)
	}
}

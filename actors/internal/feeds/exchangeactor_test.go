package feeds

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/runtime"
)

// Members that send faster than they are answered take a limited number of answers at a time.
func TestExchangeBehavior_flooded(t *testing.T) {
	dropped := 0
	b := &exchangeBehavior{every: time.Second, idle: func() bool { return true }, dropped: func() { dropped++ }}
	came := func() []runtime.Effect { return b.Step(time.Now(), messageCame{"n2", &message{}}) }
	for i := range mostAnswering {
		if e := came(); len(e) != 1 {
			t.Fatalf("message %d is not answered: %v", i, e)
		}
	}
	if e := came(); len(e) != 0 || dropped != 1 {
		t.Errorf("a message too many is answered: %v, and %d were dropped", e, dropped)
	}
	b.Step(time.Now(), answered{})
	if e := came(); len(e) != 1 || dropped != 1 {
		t.Errorf("a message after an answer is not answered: %v, and %d were dropped", e, dropped)
	}
}

package feeds

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/divandb/divan/layer/kv"
)

// A refused watch counts for some time, and other errors do not.
func TestShortage(t *testing.T) {
	var s Shortage
	begin := time.Unix(1000, 0)
	s.note(nil, begin)
	s.note(errors.New("lost"), begin)
	s.note(kv.NewError(kv.CodeCancelled, "cancelled", nil), begin)
	if s.is(begin) {
		t.Fatal("no watch was refused")
	}
	s.note(fmt.Errorf("shard: %w", kv.NewError(kv.CodeTooManyWatches, "too many watches", nil)), begin)
	if !s.is(begin) || !s.is(begin.Add(2*maxPause)) {
		t.Error("the refusal is forgotten before the shard asks again")
	}
	if s.is(begin.Add(time.Minute)) {
		t.Error("the refusal counts for ever")
	}
}

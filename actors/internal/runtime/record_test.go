package runtime

import (
	"testing"
	"time"
)

// The pauses before restarts grow while failures follow each other, and are reset after a while.
func TestRecord_Failed(t *testing.T) {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	now := time.Unix(1000, 0)
	var last time.Duration
	for i := range 20 {
		pause := r.failed(now.Add(time.Duration(i)*time.Second), "again")
		switch {
		case i == 0 && pause != 0:
			t.Errorf("the first failure waits %v", pause)
		case i > 0 && (pause < last || pause == 0 || pause > 5*time.Second):
			t.Errorf("failure %d waits %v after %v", i, pause, last)
		}
		last = pause
	}
	if pause := r.failed(now.Add(time.Hour), "later"); pause != 0 {
		t.Errorf("a failure an hour later waits %v", pause)
	}
	for at, want := range map[time.Duration]int{19 * time.Second: 20, FailureWindow + 9*time.Second: 11,
		FailureWindow + time.Minute: 0} {
		if n, reason := recordWith(20).failures(now.Add(at)); n != want || reason != "again" {
			t.Errorf("after %v: %d failures (%s), want %d", at, n, reason, want)
		}
	}
	if n := r.Snapshot(); n.Restarts != 21 || n.LastFailure != "later" || n.State != stateRestarting {
		t.Errorf("snapshot %+v", n)
	}
}

// recordWith returns an actor that has failed this often, once a second.
func recordWith(failures int) *Record {
	r := newRecord(nil, "x", "", time.Unix(0, 0))
	for i := range failures {
		r.failed(time.Unix(1000+int64(i), 0), "again")
	}
	return r
}

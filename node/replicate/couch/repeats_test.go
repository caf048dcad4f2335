package couch_test

import (
	"errors"
	"testing"

	"github.com/divandb/divan/node/replicate/couch"
)

// What is shown is the failure of a request that is still repeated, not a later one of a request that has succeeded
// since.
func TestRepeats(t *testing.T) {
	var r couch.Repeats
	shows := func(want string) {
		t.Helper()
		if got := r.Trouble(); got != want {
			t.Errorf("%q is shown, want %q", got, want)
		}
	}
	shows("")
	r.Failed("feed", errors.New("the feed is reset"))
	r.Failed("document", errors.New("status 500"))
	shows("status 500")
	r.Ended("document")
	shows("the feed is reset")
	r.Failed("feed", errors.New("the feed is silent"))
	shows("the feed is silent")
	r.Ended("feed")
	shows("")
}

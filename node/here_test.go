package node

import (
	"iter"
	"reflect"
	"testing"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/node/console/state"
)

// The console knows which index a job builds.
func TestShownJobsOf(t *testing.T) {
	of := layer.IndexJob{Database: "a/b", Design: "_design/d", Signature: "0519"}
	jobs := func(yield func(layer.Job, error) bool) {
		for _, j := range []layer.Job{{Type: layer.IndexJobs, ID: of.ID(), Data: of.Encode(), Failures: 3, Error: "no"},
			{Type: layer.IndexJobs, ID: "x/1", State: layer.JobFinished}, {Type: layer.CleanupJobs, ID: "a/b"}} {
			if !yield(j, nil) {
				return
			}
		}
	}
	var got []state.Job
	for j, err := range shownJobsOf(iter.Seq2[layer.Job, error](jobs)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, j)
	}
	want := []state.Job{{Type: layer.IndexJobs, ID: "a/b/0519", Database: "a/b", Design: "_design/d", Failures: 3,
		Error: "no"}, {Type: layer.CleanupJobs, ID: "a/b"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

package node

import (
	"testing"
	"time"

	"github.com/divandb/divan/cluster"
)

// A node expects those that used the store before it for some seconds.
func TestEarlier_awaited(t *testing.T) {
	start := time.Unix(1000, 0)
	e := earlier{names: []string{"n1", "n2", "n3"}, at: start}
	for _, c := range []struct {
		after   time.Duration
		members []cluster.Member
		want    int
	}{
		{time.Second, []cluster.Member{{Name: "n1"}}, 2},
		{time.Second, []cluster.Member{{Name: "n1"}, {Name: "n3", Status: cluster.Left}, {Name: "n4"}}, 1},
		{awaitedFor + 1, []cluster.Member{{Name: "n1"}}, 0},
	} {
		if got := e.awaited(start.Add(c.after), c.members); got != c.want {
			t.Errorf("after %v, of %v %d are awaited, not %d", c.after, c.members, got, c.want)
		}
	}
}

package indexing

import (
	"testing"
	"time"

	"github.com/divandb/divan/layer"
)

// A request that finds the turn of an index taken is notified when the turn ends without having helped it. This can
// happen if the request with the turn knows less because it looked before a job ended, and finds that the job was
// already enqueued. If both wait for the same job there is no notification, because otherwise waiting requests would
// wake each other all the time.
func TestEnsuring_missedTurn(t *testing.T) {
	before, after := layer.Seq{Incarnation: 1}, layer.Seq{Incarnation: 2}
	for _, c := range []struct {
		name  string
		asked bool
		at    layer.Seq // the position of the index, as known to the request that missed the turn
		owes  bool      // the request with the turn still has work to do
		told  bool
	}{
		{name: "knows more", asked: true, at: after, told: true},
		{name: "waits for the same job", asked: true, at: before},
		{name: "the other one has more to do", asked: true, at: after, owes: true},
		{name: "no job", at: before, told: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &Indexing{builds: newBuilds(nil)}
			key := indexKey{signature: "of the index"}
			join := func() (*ensuring, chan error) {
				w, news, cancel := x.builds.wait(key)
				t.Cleanup(cancel)
				return &ensuring{x: x, key: key, waiting: w}, news
			}
			first, _ := join()
			second, news := join()
			if c.asked {
				x.builds.ask(first.waiting, before, time.Now())
			}
			take := func(owes bool, meanwhile func()) {
				_, err := first.turn(before, func() (bool, error) {
					meanwhile()
					first.owes = owes
					return false, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			take(c.owes, func() {
				_, err := second.turn(c.at, func() (bool, error) {
					t.Error("two have the turn")
					return false, nil
				})
				if err != nil {
					t.Fatal(err)
				}
			})
			if told := len(news) > 0; told != c.told {
				t.Errorf("told: %v", told)
			}
			if !c.owes {
				return
			}
			if take(false, func() {}); len(news) == 0 {
				t.Error("no notification when the request with the turn was done")
			}
		})
	}
}

package layer_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/divandb/divan/layer"
)

// No faults are reported while documents are written, deleted, purged and compacted, moved to other shards and counted
// there, and while the index is built, caught up and aggregated.
func TestVerify_online(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			s := openToBreak(t, mustEngineWith(t, snapshots))
			d, err := s.Database(t.Context(), "db")
			if err != nil {
				t.Fatal(err)
			}
			design, err := d.Design(t.Context(), "d")
			if err != nil {
				t.Fatal(err)
			}
			stop := make(chan struct{})
			var writers sync.WaitGroup
			again := func(f func(i int) error) {
				writers.Go(func() {
					for i := range 500 { // more than an embedded store gets to; a slow one must end, too
						select {
						case <-stop:
							return
						default:
						}
						if err := f(i); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			again(func(i int) error {
				id := fmt.Sprintf("doc%03d", i%150)
				switch i % 20 {
				case 7:
					_, err := d.Purge(t.Context(), id, leafRevs(t, d, id))
					return err
				case 11:
					return d.Compact(t.Context())
				case 13:
					_, err := d.Index(design).CatchUp(t.Context(), 1000)
					return err
				case 17:
					if revs := leafRevs(t, d, id); len(revs) > 0 {
						_, err := d.Put(t.Context(), layer.Edit{ID: id, Rev: revs[0], Deleted: true},
							layer.WriteOptions{})
						if layer.KindOf(err) != layer.Conflict { // it may have been deleted
							return err
						}
					}
					return nil
				}
				save(t, d, fmt.Sprintf(`{"_id":"%s","n":%d,"_attachments":{"f":{"data":"aGVsbG8="}}}`, id, i))
				return nil
			})
			parts, err := s.Database(t.Context(), "parts")
			if err != nil {
				t.Fatal(err)
			}
			again(func(i int) error {
				save(t, parts, fmt.Sprintf(`{"_id":"%c:%d","n":%d}`, 'a'+i%5, i%40, i))
				switch i % 30 {
				case 3:
					return d.Index(design).Aggregate(t.Context())
				case 13:
					_, err := layer.CloseFeed(t.Context(), d, 100)
					return err
				case 23:
					_, err := d.Reshard(t.Context(), 1+i/30%3)
					return err
				case 29:
					return parts.Compact(t.Context())
				}
				return nil
			})
			for range 5 {
				if lines := verifyAll(t, s, false); len(lines) > 0 {
					t.Errorf("%d false faults:\n%s", len(lines),
						strings.Join(lines[:min(len(lines), 5)], "\n"))
				}
			}
			close(stop)
			writers.Wait()
			if lines := verifyAll(t, s, true); len(lines) > 0 {
				t.Errorf("%d faults afterwards:\n%s", len(lines), strings.Join(lines[:min(len(lines), 5)], "\n"))
			}
		})
	}
}

// Writers of an interactive index count its rows by shard, and a build counts the rows of documents from before it.
func TestVerify_interactive(t *testing.T) {
	s := openViewStore(t, mustEngine(t))
	d := mustCreate(t, s, "db", layer.CreateOptions{Shards: 3})
	for i := range 10 {
		put(t, d, fmt.Sprintf(`{"_id":"before%d","n":%d}`, i, i))
	}
	save(t, d, `{"_id":"_design/i","options":{"interactive":true},
		"views":{"n":{"map":"function(doc) { emit(doc.n) }"}}}`)
	build(t, d.Index(mustDesign(t, d, "i")), 1, 5)
	for i := range 20 {
		r := put(t, d, fmt.Sprintf(`{"_id":"after%d","n":%d}`, i, i))
		put(t, d, fmt.Sprintf(`{"_id":"after%d","_rev":%q,"_deleted":%v}`, i, r, i%2 == 0))
	}
	if lines := verifyAll(t, s, true); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
}

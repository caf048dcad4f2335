package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
)

// idsBody is the body of a feed of n ids of that length.
func idsBody(n, length int) []byte {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%0*d"`, length, i)
	}
	return []byte(`{"doc_ids":[` + strings.Join(ids, ",") + `]}`)
}

// begunFeed is a feed's filter that is prepared in the background.
type begunFeed struct {
	q     *request
	err   error
	ended atomic.Bool
}

func follow(s *Server, user string, text []byte, declared bool) *begunFeed {
	r := httptest.NewRequest("POST", "/db/_changes", nil)
	r.ContentLength = -1
	if declared {
		r.ContentLength = int64(len(text))
	}
	f := &begunFeed{q: &request{srv: s, r: r, method: "POST", user: User{Name: user}, most: 64 * mib,
		tooLarge: errTooLarge}}
	f.q.body = &clientBody{of: r}
	r.Body = io.NopCloser(bytes.NewReader(text))
	go func() {
		var filter *changeFilter
		filter, f.err = f.q.docIDsFilter(&changesQuery{feed: feedContinuous})
		if f.err == nil && !filter.match(&layer.Change{ID: fmt.Sprintf("%09d", 1)}) {
			f.err = errors.New("the filter does not know an id")
		}
		f.ended.Store(true)
	}()
	synctest.Wait()
	return f
}

// A feed that waits for the memory that it will keep holds nothing of what other requests wait for: whether its body's
// size is known or not. It is refused in words of its own.
func TestFeed_reserves(t *testing.T) {
	for name, c := range map[string]struct {
		declared bool
		dir      string
	}{
		"size known":   {true, t.TempDir()},
		"size unknown": {false, t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{o: Options{Spool: c.dir}, log: slog.New(slog.DiscardHandler), budget: newBudget(64 * mib)}
				text := idsBody(100_000, 9) // its set takes 2.3 MiB; one client may have 4
				first := follow(s, "anna", text, c.declared)
				if !first.ended.Load() || first.err != nil {
					t.Fatalf("the first feed: %v %v", first.ended.Load(), first.err)
				}
				second := follow(s, "anna", text, c.declared)
				third := follow(s, "bob", text, c.declared)
				if second.ended.Load() {
					t.Fatalf("a feed beyond the client's share: %v", second.err)
				}
				if !third.ended.Load() || third.err != nil {
					t.Errorf("another client's feed: %v %v", third.ended.Load(), third.err)
				}
				for _, l := range s.budget.lanes() {
					if l != &s.budget.held && l.free != l.size {
						t.Errorf("feeds that wait hold %d of the %d bytes of a lane that others use", l.size-l.free,
							l.size)
					}
				}
				time.Sleep(budgetPatience)
				synctest.Wait()
				if !errors.Is(second.err, errFeedsHold) {
					t.Errorf("a feed that waited in vain: %v", second.err)
				}
				fourth := follow(s, "anna", text, c.declared)
				first.q.release()
				synctest.Wait()
				if !fourth.ended.Load() || fourth.err != nil {
					t.Errorf("a feed in place of another: %v %v", fourth.ended.Load(), fourth.err)
				}
				for _, f := range []*begunFeed{second, third, fourth} {
					f.q.release()
				}
				for _, l := range s.budget.lanes() {
					if l.free != l.size || len(l.clients) != 0 {
						t.Errorf("%d of %d bytes are free in the end; clients hold %v", l.free, l.size, l.clients)
					}
				}
			})
		})
	}
}

// What a list really takes is what its feed holds: less than was asked for, or more where its ids are very short, if
// there is more. Where no file can be made for a body of unknown size, the feed does not wait.
func TestFeed_keeps(t *testing.T) {
	for name, c := range map[string]struct {
		text     []byte
		declared bool
		dir      string
	}{
		"long ids":  {idsBody(20_000, 60), true, t.TempDir()},
		"short ids": {idsBody(200_000, 1), true, t.TempDir()},
		"no file":   {idsBody(20_000, 9), false, filepath.Join(t.TempDir(), "missing")},
		"small":     {idsBody(5000, 9), false, t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &Server{o: Options{Spool: c.dir}, log: slog.New(slog.DiscardHandler), budget: newBudget(64 * mib)}
				q := follow(s, "anna", append(bytes.TrimSuffix(c.text, []byte("]}")), `,"000000001"]}`...), c.declared)
				if !q.ended.Load() || q.err != nil {
					t.Fatalf("the feed: %v %v", q.ended.Load(), q.err)
				}
				want, _ := newIDSet(member(gjson.ParseBytes(c.text), "doc_ids"))
				var held int64
				for _, l := range s.budget.lanes() {
					held += l.size - l.free
				}
				if held < want.size() || held > want.size()+want.size()/50 {
					t.Errorf("it holds %d bytes for a set of %d", held, want.size())
				}
				q.q.release()
				if l := &s.budget.held; l.free != l.size {
					t.Errorf("%d of %d bytes are free in the end", l.free, l.size)
				}
			})
		})
	}
}

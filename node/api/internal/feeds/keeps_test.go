package feeds

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
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/decode"
	"github.com/divandb/divan/node/api/internal/fault"
	"github.com/divandb/divan/node/api/internal/intake"
)

// mib is the unit of budgets and bodies here.
const mib = 1 << 20

// budgetWithSpool returns a budget of 64 MiB.
func budgetWithSpool(dir string) *intake.Budget {
	limits := intake.Limits{Memory: 64 * mib, Wait: time.Minute, Rate: 1, Spool: dir}
	return intake.NewBudget(limits, slog.New(slog.DiscardHandler))
}

// idsBody returns the body of a feed of n ids of the given length.
func idsBody(n, length int) []byte {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf(`"%0*d"`, length, i)
	}
	return []byte(`{"doc_ids":[` + strings.Join(ids, ",") + `]}`)
}

// begunFeed is a feed's filter that is prepared in the background.
type begunFeed struct {
	q     *call.Request
	err   error
	ended atomic.Bool
}

func follow(b *intake.Budget, user string, text []byte, declared bool) *begunFeed {
	r := httptest.NewRequest("POST", "/db/_changes", nil)
	r.ContentLength = -1
	if declared {
		r.ContentLength = int64(len(text))
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	f := &begunFeed{q: call.New(httptest.NewRecorder(), r, b)}
	f.q.Body.Client = user
	f.err = f.q.Body.Bound(64*mib, fault.TooLarge)
	go func() {
		var filter *changeFilter
		filter, f.err = docIDsFilter(f.q, &changesQuery{feed: feedContinuous})
		if f.err == nil && !filter.match(&layer.Change{ID: fmt.Sprintf("%09d", 1)}) {
			f.err = errors.New("the filter lacks an id")
		}
		f.ended.Store(true)
	}()
	synctest.Wait()
	return f
}

// A feed that waits for the memory that it will keep holds none of the memory that other requests wait for, whether its
// body's size is known or not. Its refusal has its own message.
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
				b := budgetWithSpool(c.dir)
				text := idsBody(100_000, 9) // its set takes 2.3 MiB; one client may have 4
				first := follow(b, "anna", text, c.declared)
				if !first.ended.Load() || first.err != nil {
					t.Fatalf("the first feed: %v %v", first.ended.Load(), first.err)
				}
				second := follow(b, "anna", text, c.declared)
				third := follow(b, "bob", text, c.declared)
				if second.ended.Load() {
					t.Fatalf("a feed beyond the client's share: %v", second.err)
				}
				if !third.ended.Load() || third.err != nil {
					t.Errorf("another client's feed: %v %v", third.ended.Load(), third.err)
				}
				set, _ := newIDSet(decode.Member(gjson.ParseBytes(text), "doc_ids"))
				if held, _ := b.Use(); held < 2*set.size() || held > 2*set.size()+set.size()/50 {
					t.Errorf("two feeds that keep %d bytes each and one that waits hold %d", set.size(), held)
				}
				time.Sleep(time.Minute) // longer than a request waits
				synctest.Wait()
				if !errors.Is(second.err, intake.ErrFeedsHold) {
					t.Errorf("a feed that waited too long: %v", second.err)
				}
				fourth := follow(b, "anna", text, c.declared)
				first.q.Body.Release()
				synctest.Wait()
				if !fourth.ended.Load() || fourth.err != nil {
					t.Errorf("a feed after another has ended: %v %v", fourth.ended.Load(), fourth.err)
				}
				for _, f := range []*begunFeed{second, third, fourth} {
					f.q.Body.Release()
				}
				if held, _ := b.Use(); held != 0 {
					t.Errorf("%d bytes are held at the end", held)
				}
			})
		})
	}
}

// A feed holds the memory that its list really takes: less than was requested, or more if its ids are very short and
// memory is available. If no file can be created for a body of unknown size, the feed does not wait.
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
				b := budgetWithSpool(c.dir)
				q := follow(b, "anna", append(bytes.TrimSuffix(c.text, []byte("]}")), `,"000000001"]}`...), c.declared)
				if !q.ended.Load() || q.err != nil {
					t.Fatalf("the feed: %v %v", q.ended.Load(), q.err)
				}
				want, _ := newIDSet(decode.Member(gjson.ParseBytes(c.text), "doc_ids"))
				if held, _ := b.Use(); held < want.size() || held > want.size()+want.size()/50 {
					t.Errorf("the feed holds %d bytes for a set of %d", held, want.size())
				}
				q.q.Body.Release()
				if held, _ := b.Use(); held != 0 {
					t.Errorf("%d bytes are held at the end", held)
				}
			})
		})
	}
}

package layer_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
)

// scanned is a database that changes while its index is built for the first time.
type scanned struct {
	t     *rapid.T
	tb    testing.TB
	db    *layer.Database
	ix    *layer.Index
	b     *layer.Build
	token int64
	n     int // documents' numbers so far
}

func (s *scanned) act(what string) {
	map[string]func(){"write": s.write, "remove": s.remove, "purge": s.purge, "branch": s.branch, "reshard": s.reshard,
		"start": s.start, "step": s.stepSome}[what]()
}

func (s *scanned) drawID() string {
	return fmt.Sprintf("%02d", rapid.IntRange(0, 40).Draw(s.t, "id"))
}

func (s *scanned) write() {
	s.n++
	save(s.tb, s.db, fmt.Sprintf(`{"_id":%q,"n":%d}`, s.drawID(), s.n))
}

func (s *scanned) exists(id string) bool {
	_, err := s.db.Get(s.tb.Context(), id, layer.GetOptions{})
	return err == nil
}

func (s *scanned) remove() {
	if id := s.drawID(); s.exists(id) {
		save(s.tb, s.db, fmt.Sprintf(`{"_id":%q,"_deleted":true}`, id))
	}
}

func (s *scanned) purge() {
	if id := s.drawID(); s.exists(id) {
		purge(s.tb, s.db, id)
	}
}

// branch replicates a first revision, which may or may not win.
func (s *scanned) branch() {
	s.n++
	e := replicated(s.tb, fmt.Sprintf(`{"_id":%q,"_rev":"1-%032x","n":%d}`, s.drawID(), s.n*7919%256, s.n))
	if _, err := s.db.Put(s.tb.Context(), e, layer.WriteOptions{Replicated: true}); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *scanned) reshard() {
	if _, err := s.db.Reshard(s.tb.Context(), rapid.IntRange(1, 3).Draw(s.t, "shards")); err != nil {
		s.tb.Fatal(err)
	}
}

// start begins the build, or lets another one take it over where it is.
func (s *scanned) start() {
	if s.b != nil {
		s.b.Close()
	}
	s.token++
	var err error
	if s.b, err = s.ix.StartBuild(s.tb.Context(), s.token); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *scanned) step(shard layer.ShardID, n int) (done bool) {
	r, err := s.b.Step(s.tb.Context(), shard, n)
	if err != nil {
		s.tb.Fatal(err)
	}
	return r.Done
}

func (s *scanned) stepSome() {
	s.step(rapid.SampledFrom(s.b.Shards).Draw(s.t, "shard"), rapid.IntRange(1, 9).Draw(s.t, "n"))
}

// finish steps to the end.
func (s *scanned) finish() {
	finish(s.tb, s.b, 7)
	s.b.Close()
}

// expected returns the rows of the current documents.
func (s *scanned) expected() []string {
	var want []string
	byN := map[string]int{}
	for i := range 41 {
		id := fmt.Sprintf("%02d", i)
		doc, err := s.db.Get(s.tb.Context(), id, layer.GetOptions{})
		if err != nil && layer.KindOf(err) == layer.NotFound {
			continue
		}
		if err != nil {
			s.tb.Fatal(err)
		}
		var n int
		if _, err := fmt.Sscanf(string(doc.Body), `{"n":%d}`, &n); err != nil {
			s.tb.Fatal(err)
		}
		line := fmt.Sprintf("%s %d null", id, n)
		byN[line], want = n, append(want, line)
	}
	slices.SortFunc(want, func(a, b string) int { return byN[a] - byN[b] })
	return want
}

// A first build scans the documents in the order of ids while they are written, deleted, purged, branched and
// resharded, and is taken over at any point. At the end its rows are those of the documents.
func TestBuild_scans(t *testing.T) {
	oneGoroutine(t)
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		for _, design := range []string{byN,
			`{"_id":"_design/d","options":{"interactive":true},"views":{"n":{"map":"function(doc) { if ('n' in doc) emit(doc.n, doc.v); }"}}}`} {
			kind := map[bool]string{true: ""}[design == byN]
			if design != byN {
				kind = ", interactive"
			}
			t.Run(name+kind, func(t *testing.T) {
				store := openViewStore(t, mustEngineWith(t, snapshots))
				databases := 0
				rapid.Check(t, func(rt *rapid.T) {
					databases++
					db := mustCreate(t, store, fmt.Sprintf("db%d", databases),
						layer.CreateOptions{Shards: rapid.IntRange(1, 3).Draw(rt, "shards")})
					s := &scanned{t: rt, tb: t, db: db}
					for range rapid.IntRange(0, 40).Draw(rt, "documents") {
						s.act(rapid.SampledFrom([]string{"write", "write", "write", "remove", "purge", "branch"}).Draw(
							rt, "before"))
					}
					save(t, db, design)
					s.ix = db.Index(mustDesign(t, db, "d"))
					s.start()
					for range rapid.IntRange(0, 40).Draw(rt, "actions") {
						s.act(rapid.SampledFrom([]string{"write", "write", "remove", "purge", "branch", "reshard",
							"start", "step", "step", "step"}).Draw(rt, "action"))
					}
					s.finish()
					for range 2 { // a build with a snapshot ends where that was
						s.start()
						s.finish()
					}
					want := s.expected()
					if got := rows(t, s.ix, layer.ViewQuery{View: "n"}); !slices.Equal(got, want) {
						rt.Fatalf("got  %q\nwant %q", got, want)
					}
					state, err := s.ix.State(t.Context())
					if err != nil || !state.Current() || state.Views[0].Rows != int64(len(want)) {
						rt.Fatalf("state %+v %v, want %d rows", state, err, len(want))
					}
				})
			})
		}
	}
}

// An index that writers stopped to maintain before it was ready has rows, but no sequence. When it is created again, a
// build finds what has been removed since.
func TestBuild_recreatedIndex(t *testing.T) {
	db := openViews(t, layer.CreateOptions{})
	const design = `{"_id":"_design/d","options":{"interactive":true},"views":{"n":{"map":"function(doc) { emit(doc.n, null); }"}}}`
	save(t, db, design)
	save(t, db, `{"_id":"a","n":1}`)
	save(t, db, `{"_id":"b","n":2}`)
	save(t, db, `{"_id":"_design/d","_deleted":true}`)
	save(t, db, `{"_id":"b","_deleted":true}`)
	save(t, db, design)
	ix := db.Index(mustDesign(t, db, "d"))
	build(t, ix, 1, 10)
	if got, want := rows(t, ix, layer.ViewQuery{View: "n"}), []string{"a 1 null"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

package layer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/kv/faultkv"
	"github.com/divandb/divan/layer/script"
)

// The view in tests of exact reads: a row for each of a document's numbers.
const exactDesign = `{"_id":"_design/d","views":{
	"n":{"map":"function(doc) { (doc.n || []).forEach(function(n) { emit(n, doc.v); }); }","reduce":"_sum"},
	"count":{"map":"function(doc) { (doc.n || []).forEach(function(n) { emit([n % 3, n], 1); }); }",
		"reduce":"_count"}}}`

// exactDoc is the expected state of a document.
type exactDoc struct {
	n []int
	v int
}

// exactState is the expected state of all documents at one sequence. It is not changed after it has been added to a
// history.
type exactState map[string]exactDoc

// rows returns the rows of view n in the format of rows().
func (s exactState) rows() []string {
	type row struct {
		id   string
		n, v int
	}
	var all []row
	for id, doc := range s {
		for _, n := range doc.n {
			all = append(all, row{id, n, doc.v})
		}
	}
	slices.SortFunc(all, func(a, b row) int {
		if a.n != b.n {
			return a.n - b.n
		}
		return strings.Compare(a.id, b.id)
	})
	lines := make([]string, len(all))
	for i, r := range all {
		lines[i] = fmt.Sprintf("%s %d %d", r.id, r.n, r.v)
	}
	return lines
}

// groups returns the counts of the view count at group level 1, and the sum of n.
func (s exactState) groups() (counts []string, sum int) {
	var by [3]int
	for _, doc := range s {
		for _, n := range doc.n {
			by[n%3]++
			sum += doc.v
		}
	}
	for i, n := range by {
		if n > 0 {
			counts = append(counts, fmt.Sprintf("[%d] %d", i, n))
		}
	}
	return counts, sum
}

// exactModel is a database on two nodes. Its index is built incrementally on both in turn, and read on both.
type exactModel struct {
	t       *rapid.T
	tb      testing.TB
	db      [2]*layer.Database
	ix      [2]*layer.Index
	b       *layer.Build
	token   int64
	now     exactState
	history map[layer.Seq]exactState
	values  int
	// If builds have no snapshots, purged documents disappear at once: they may be missing in an older state too.
	snapshots bool
}

func (m *exactModel) drawID() string {
	return fmt.Sprintf("%02d", rapid.IntRange(0, 25).Draw(m.t, "id"))
}

func (m *exactModel) node() int { return rapid.IntRange(0, 1).Draw(m.t, "node") }

// note adds the state after a change to the history.
func (m *exactModel) note(id string, doc *exactDoc) {
	next := make(exactState, len(m.now)+1)
	for id, doc := range m.now {
		next[id] = doc
	}
	if delete(next, id); doc != nil {
		next[id] = *doc
	}
	m.now = next
	m.remember()
}

func (m *exactModel) remember() {
	seq, err := m.db[0].LastSeq(m.tb.Context())
	if err != nil {
		m.tb.Fatal(err)
	}
	m.history[seq] = m.now
}

func (m *exactModel) write() {
	m.values++
	id := m.drawID()
	doc := exactDoc{n: rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 0, 4, rapid.ID).Draw(m.t, "n"), v: m.values}
	if old, ok := m.now[id]; ok && rapid.Bool().Draw(m.t, "keeps its value") {
		doc.v = old.v // some rows stay unchanged
	}
	save(m.tb, m.db[m.node()],
		fmt.Sprintf(`{"_id":%q,"n":%s,"v":%d}`, id, strings.ReplaceAll(fmt.Sprint(doc.n), " ", ","), doc.v))
	m.note(id, &doc)
}

func (m *exactModel) remove() {
	id := m.drawID()
	if _, ok := m.now[id]; ok {
		save(m.tb, m.db[m.node()], fmt.Sprintf(`{"_id":%q,"_deleted":true}`, id))
		m.note(id, nil)
	}
}

func (m *exactModel) purge() {
	id := m.drawID()
	if _, ok := m.now[id]; ok && (m.snapshots || !m.built()) {
		purge(m.tb, m.db[m.node()], id)
		m.note(id, nil)
	}
}

// built reports whether a build is in progress, even if nothing works on it.
func (m *exactModel) built() bool {
	state, err := m.ix[0].State(m.tb.Context())
	if err != nil {
		m.tb.Fatal(err)
	}
	return state.Building
}

func (m *exactModel) compact() {
	if !m.snapshots {
		m.stop() // no job has the build, so it is abandoned
	}
	if err := m.db[m.node()].Compact(m.tb.Context()); err != nil {
		m.tb.Fatal(err)
	}
}

func (m *exactModel) reshard() {
	if _, err := m.db[m.node()].Reshard(m.tb.Context(), rapid.IntRange(1, 3).Draw(m.t, "shards")); err != nil {
		m.tb.Fatal(err)
	}
	m.remember()
}

// start begins a build on one of the nodes, or lets it take over the other's.
func (m *exactModel) start() {
	m.stop()
	m.token++
	var err error
	if m.b, err = m.ix[m.node()].StartBuild(m.tb.Context(), m.token); err != nil {
		m.tb.Fatal(err)
	}
	m.remember() // a build may move the sequence
}

func (m *exactModel) stop() {
	if m.b != nil {
		m.b.Close()
		m.b = nil
	}
}

func (m *exactModel) step() {
	if m.b == nil {
		m.start()
	}
	shard := rapid.SampledFrom(m.b.Shards).Draw(m.t, "shard")
	if _, err := m.b.Step(m.tb.Context(), shard, rapid.IntRange(1, 6).Draw(m.t, "n")); err != nil {
		m.tb.Fatal(err)
	}
}

func (m *exactModel) finish() {
	if m.b == nil {
		m.start()
	}
	finish(m.tb, m.b, 5)
	m.remember()
	m.stop()
}

func (m *exactModel) catchUp() {
	if _, err := m.ix[m.node()].CatchUp(m.tb.Context(), 10); err != nil {
		m.tb.Fatal(err)
	}
}

func (m *exactModel) aggregate() {
	if err := m.ix[m.node()].Aggregate(m.tb.Context()); err != nil {
		m.tb.Fatal(err)
	}
}

// at returns the state that an answer claims to be of.
func (m *exactModel) at(seq layer.Seq) exactState {
	if seq.IsZero() {
		return exactState{}
	}
	s, ok := m.history[seq]
	if !ok {
		m.t.Fatalf("update sequence %s, at which the database never was", seq)
	}
	return s
}

// read compares all answers of a node with the documents at the sequence that the answer names.
func (m *exactModel) read() {
	ix := m.ix[m.node()]
	q := layer.ViewQuery{View: "n", Limit: -1, WithOffset: true, Descending: rapid.Bool().Draw(m.t, "descending")}
	result, err := ix.Query(m.tb.Context(), q)
	if err != nil {
		m.tb.Fatal(err)
	}
	state := m.at(result.UpdateSeq)
	all := state.rows()
	want := slices.Clone(all)
	if q.Descending {
		slices.Reverse(want)
	}
	var got []string
	for row, err := range result.Rows {
		if err != nil {
			m.tb.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Value))
	}
	if !slices.Equal(got, want) || result.TotalRows != int64(len(want)) {
		m.t.Fatalf("at %s, %d rows in all\ngot  %q\nwant %q", result.UpdateSeq, result.TotalRows, got, want)
	}
	m.readPart(ix)
	counts, sum := state.groups()
	m.readReduced(ix, counts, sum)
}

// readPart reads a range with limits.
func (m *exactModel) readPart(ix *layer.Index) {
	low, high := rapid.IntRange(0, 12).Draw(m.t, "low"), rapid.IntRange(0, 12).Draw(m.t, "high")
	if low > high {
		low, high = high, low
	}
	q := layer.ViewQuery{View: "n", StartKey: fmt.Append(nil, low), EndKey: fmt.Append(nil, high),
		Limit: rapid.IntRange(0, 9).Draw(m.t, "limit"), Skip: rapid.IntRange(0, 9).Draw(m.t, "skip"), WithOffset: true}
	result, err := ix.Query(m.tb.Context(), q)
	if err != nil {
		m.tb.Fatal(err)
	}
	var want []string
	before := 0
	all := m.at(result.UpdateSeq).rows()
	for _, line := range all {
		var id string
		var n int
		if _, err := fmt.Sscan(line, &id, &n); err != nil {
			m.tb.Fatal(err)
		}
		if n < low {
			before++
		} else if n <= high {
			want = append(want, line)
		}
	}
	offset := min(before+q.Skip, len(all))
	want = want[min(q.Skip, len(want)):]
	want = want[:min(q.Limit, len(want))]
	var got []string
	for row, err := range result.Rows {
		if err != nil {
			m.tb.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s", row.ID, row.Key, row.Value))
	}
	if !slices.Equal(got, want) || result.Offset >= 0 && result.Offset != int64(offset) {
		m.t.Fatalf("%+v at %s, offset %d, want %d\ngot  %q\nwant %q", q, result.UpdateSeq, result.Offset, offset, got,
			want)
	}
}

func (m *exactModel) readReduced(ix *layer.Index, counts []string, sum int) {
	lines := func(q layer.ReduceQuery) (lines []string) {
		q.Limit = -1
		result, err := ix.Reduce(m.tb.Context(), q)
		if err != nil {
			m.tb.Fatal(err)
		}
		for row, err := range result.Rows {
			if err != nil {
				m.tb.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s %s", row.Key, row.Value))
		}
		return lines
	}
	if got := lines(layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "count"},
		GroupLevel: 1}); !slices.Equal(got, counts) {
		m.t.Fatalf("counts %q, want %q", got, counts)
	}
	var want []string
	if len(counts) > 0 {
		want = []string{fmt.Sprintf("null %d", sum)}
	}
	if got := lines(layer.ReduceQuery{ViewQuery: layer.ViewQuery{View: "n"}}); !slices.Equal(got, want) {
		m.t.Fatalf("sum %q, want %q", got, want)
	}
}

// openPartials opens a store whose aggregates cover few rows. There may be several on one engine.
func openPartials(tb testing.TB, engine kv.Engine, rows int) *layer.Store {
	tb.Helper()
	sandbox := script.New(script.Options{Limits: script.Limits{Time: time.Minute}})
	tb.Cleanup(func() {
		if err := sandbox.Close(); err != nil {
			tb.Error(err)
		}
	})
	store, err := layer.Open(tb.Context(), faultkv.InSuite(tb, engine),
		layer.Options{Scripts: sandbox, Validator: layer.NewValidator(sandbox), PartialRows: rows})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// Whatever has been built of an index, on whichever node, and after any takeovers, every answer on every node has the
// documents at the sequence that it names (P8).
func TestIndex_exactOnEveryNode(t *testing.T) {
	for name, snapshots := range map[string]bool{"snapshots": true, "no snapshots": false} {
		t.Run(name, func(t *testing.T) {
			engine := mustEngineWith(t, snapshots)
			if s, ok, err := kv.OpenSnapshot(t.Context(), engine); err != nil {
				t.Fatal(err)
			} else if snapshots = ok; ok {
				s.Close()
			}
			stores := [2]*layer.Store{openPartials(t, engine, 4), openPartials(t, engine, 4)}
			databases := 0
			rapid.Check(t, func(rt *rapid.T) {
				databases++
				m := &exactModel{t: rt, tb: t, now: exactState{}, snapshots: snapshots}
				m.history = map[layer.Seq]exactState{}
				name := fmt.Sprintf("db%d", databases)
				m.db[0] = mustCreate(t, stores[0], name,
					layer.CreateOptions{Shards: rapid.IntRange(1, 3).Draw(rt, "shards")})
				var err error
				if m.db[1], err = stores[1].Database(t.Context(), name); err != nil {
					t.Fatal(err)
				}
				save(t, m.db[0], exactDesign)
				m.remember()
				for range rapid.IntRange(0, 30).Draw(rt, "documents") {
					m.write()
				}
				for i, db := range m.db {
					m.ix[i] = db.Index(mustDesign(t, db, "d"))
				}
				if rapid.Bool().Draw(rt, "built before") {
					m.finish()
				}
				actions := map[string]func(){
					"write": m.write, "remove": m.remove, "purge": m.purge, "reshard": m.reshard,
					"start": m.start, "stop": m.stop, "step": m.step, "finish": m.finish,
					"catch up": m.catchUp, "aggregate": m.aggregate, "compact": m.compact, "read": m.read,
				}
				often := []string{
					"write", "write", "write", "write", "remove", "purge", "reshard",
					"start", "stop", "step", "step", "step", "step", "finish",
					"catch up", "aggregate", "compact", "read", "read", "read",
				}
				for range rapid.IntRange(1, 60).Draw(rt, "actions") {
					actions[rapid.SampledFrom(often).Draw(rt, "action")]()
				}
				m.read()
				m.finish()
				m.read()
				m.stop()
				if n, err := layer.CountMoved(t.Context(), m.db[0]); n > 0 || err != nil {
					rt.Fatalf("%d copies of entries are left, %v", n, err)
				}
			})
		})
	}
}

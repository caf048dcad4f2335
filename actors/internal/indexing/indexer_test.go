package indexing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// cut is the error of a step whose connection to the store broke.
var cut = kv.NewError(kv.CodeTooOld, "cut", kv.ErrConnectionLost)

// turn is a message, and what an indexer does because of it.
type turn struct {
	message any
	want    string
}

// Each case drives an indexer's behavior and renders its effects, without the lengths of pauses.
func TestIndexerBehavior(t *testing.T) {
	broken := errors.New("broken")
	away := kv.NewError(kv.CodeUnreachable, "away", nil)
	lost := &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	gone := &layer.Error{Kind: layer.NotFound, Reason: "gone"}
	plan := buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a", "b", "c"}, Changes: 900}}
	part := func(shard layer.ShardID, n int, took time.Duration, done bool) stepped {
		return stepped{shard: shard, result: layer.StepResult{Documents: n, Done: done}, took: took}
	}
	cases := []struct {
		name  string
		lives int
		turns []turn
	}{
		{"two shards at a time, in turn, then the end", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{part("a", 100, time.Millisecond, false), "c:100"},
			{part("b", 50, time.Millisecond, true), "a:400"},
			{part("c", 50, time.Millisecond, true), ""},
			{part("a", 400, time.Millisecond, true), "finish"},
			{buildFinished{}, "report <nil>"},
			{jobReported{}, "end <nil> stop"},
			{renewNow{}, ""},
		}},
		{"nothing to do", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{}, "finish"},
			{buildFinished{}, "report <nil>"},
		}},
		{"a slow batch makes the next one smaller, and growth slower from then on", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}}, "a:100"},
			{part("a", 100, time.Millisecond, false), "a:400"},
			{part("a", 400, time.Second, false), "a:900"},
			{part("a", 900, 3*time.Second, false), "a:720"},
			{part("a", 720, time.Millisecond, false), "a:820"},
		}},
		{"a failed batch is halved and retried, the others continue", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{stepped{shard: "a", err: broken}, "c:100 pause"},
			{part("b", 1, time.Millisecond, true), ""},
			{stepAgain{"a"}, "a:50"},
		}},
		{"a batch that always fails makes the job fail", 1, append([]turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}}, "a:100"},
		}, append(func() (list []turn) {
			for n, i := 50, 0; i < maxFailures; n, i = max(1, n/2), i+1 {
				list = append(list, turn{stepped{shard: "a", err: broken}, "pause"},
					turn{stepAgain{"a"}, fmt.Sprintf("a:%d", n)})
			}
			return list
		}(), turn{stepped{shard: "a", err: broken}, "report shard a: broken"},
			turn{jobReported{broken}, "end broken stop"})...)},
		{"another worker has the job: no more batches, no report", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{renewNow{}, "renew"},
			{renewed{lost}, "end <nil> stop"},
			{part("a", 100, time.Millisecond, false), ""},
		}},
		{"a batch detects that another worker has the job", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{stepped{shard: "b", err: lost}, "end <nil> stop"},
		}},
		{"a failed renewal does not stop the job", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{renewNow{}, "renew"},
			{renewed{broken}, "pause"},
		}},
		{"the database is deleted under it", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{err: gone}, "report <nil> but gone"},
			{jobReported{gone}, "end gone stop"},
		}},
		{"its design document is deleted: no more batches, but no failure", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{renewNow{}, "renew"},
			{renewed{gone}, "report <nil> but gone"},
			{part("a", 100, time.Millisecond, false), ""},
			{stepped{shard: "b", err: broken}, ""},
			{jobReported{gone}, "end gone stop"},
		}},
		{"start and end are retried", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{err: broken}, "pause"},
			{startAgain{}, "begin"},
			{buildStarted{}, "finish"},
			{buildFinished{err: broken}, "pause"},
			{closeAgain{}, "finish"},
		}},
		{"the connection to the store breaks: it begins anew when no batch is running", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{plan, "a:100 b:100"},
			{stepped{shard: "a", err: broken}, "c:100 pause"},
			{stepped{shard: "b", err: cut}, ""},
			{stepAgain{"a"}, ""},
			{stepped{shard: "c", err: cut}, "begin"},
			{buildStarted{err: away}, "pause"},
			{startAgain{}, "begin"},
			{plan, "a:100 b:100"},
			{part("a", 100, time.Millisecond, false), "c:100"},
		}},
		{"a store that is away is no failure of the job, however long", 1, append([]turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}}, "a:100"},
		}, append(slices.Repeat([]turn{{stepped{shard: "a", err: away}, "pause"}, {stepAgain{"a"}, "a:100"}},
			2*maxFailures), append([]turn{{part("a", 100, time.Millisecond, true), "finish"}},
			slices.Repeat([]turn{{buildFinished{err: away}, "pause"}, {closeAgain{}, "finish"}}, 2*maxFailures)...)...,
		)...)},
		{"a connection that breaks after each beginning makes the job fail", 1, append([]turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}}, "a:100"},
		}, append(slices.Repeat([]turn{{stepped{shard: "a", err: cut}, "begin"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}}, "a:100"}}, maxFailures),
			turn{stepped{shard: "a", err: cut}, "pause"})...)},
		{"a build has advanced when a batch had documents", 1, []turn{
			{runtime.Started{}, "begin pause"},
			{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}}, done: IndexerFacts{Documents: 9}}, "a:100"},
			{stepped{shard: "a", err: broken}, "pause"},
			{renewNow{}, "renew"},
			{stepAgain{"a"}, "a:50"},
			{stepped{shard: "a"}, "a:150"},
			{renewNow{}, "renew"},
			{stepped{shard: "a", result: layer.StepResult{Documents: 1}}, "a:250"},
			{renewNow{}, "renew advanced"},
		}},
		{"after too many crashes the job has failed", maxLives + 1, []turn{
			{runtime.Started{}, "report the indexer crashed 5 times: a bug"},
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := &indexerBehavior{lives: tc.lives, crash: "a bug", parallel: 2, first: 100, renewEvery: time.Second,
				backoff: runtime.NewBackoff(time.Millisecond, time.Second), setProgress: func(IndexerFacts) {}}
			for i, turn := range tc.turns {
				effects := b.Step(time.Unix(1000, 0), turn.message)
				b.Status()
				if got := renderIndexing(effects); got != turn.want {
					t.Fatalf("turn %d, %+v: %q, want %q", i, turn.message, got, turn.want)
				}
			}
		})
	}
}

func renderIndexing(effects []runtime.Effect) string {
	var list []string
	for _, e := range effects {
		switch e := e.(type) {
		case startBuild:
			list = append(list, "begin")
		case stepShard:
			list = append(list, fmt.Sprintf("%s:%d", e.shard, e.n))
		case hurryBuild:
			list = append(list, map[bool]string{true: "hurry", false: "no-hurry"}[e.on])
		case finishBuild:
			list = append(list, "finish")
		case renewLease:
			list = append(list, "renew")
			if e.advanced {
				list = append(list, "advanced")
			}
		case reportJob:
			list = append(list, fmt.Sprintf("report %v", e.err))
			if e.outcome != e.err { //nolint:errorlint // the same value
				list = append(list, fmt.Sprintf("but %v", e.outcome))
			}
		case endTask:
			list = append(list, fmt.Sprintf("end %v", e.outcome))
		case runtime.StopSelf:
			list = append(list, "stop")
		case runtime.After:
			list = append(list, "pause")
		default:
			list = append(list, fmt.Sprintf("%T", e))
		}
	}
	return strings.Join(list, " ")
}

// After its turn, a build lets other jobs that wait have its worker. It ends its batches first, and goes on from there
// in its next turn.
func TestIndexerBehavior_turn(t *testing.T) {
	begun := buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a", "b"}}}
	for name, turns := range map[string][]turn{
		"others wait": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"},
			{turnOver{}, "indexing.askWaiting"}, {othersWaiting{false}, "pause"},
			{turnOver{}, "indexing.askWaiting"}, {othersWaiting{true}, "hurry pause"},
			{stepped{shard: "a", result: layer.StepResult{Documents: 7}}, ""}, {turnOver{}, "pause"},
			{stepped{shard: "b"}, "indexing.postponeJob"},
			{stepAgain{"b"}, ""}, {renewNow{}, ""}, {turnOver{}, ""}, {jobReported{}, "end <nil> stop"},
		},
		"between two batches": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{stepped{shard: "a", result: layer.StepResult{Documents: 1, Done: true}}, ""},
			{stepped{shard: "b", err: &kv.Error{Code: kv.CodeUnreachable}}, "pause"},
			{othersWaiting{true}, "hurry pause indexing.postponeJob"},
		},
		"it fails: it goes on until it has failed often enough, or works again": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{stepped{shard: "a", result: layer.StepResult{Documents: 1, Done: true}}, ""},
			{othersWaiting{true}, "hurry pause"},
			{stepped{shard: "b", err: errors.New("no")}, "pause no-hurry"}, {stepAgain{"b"}, "b:50"},
			{turnOver{}, "indexing.askWaiting"}, {othersWaiting{true}, "hurry pause"},
			{stepped{shard: "b", result: layer.StepResult{Documents: 1}}, "indexing.postponeJob"},
		},
		"it has done nothing yet": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{othersWaiting{true}, "hurry pause"},
			{stepped{shard: "a"}, ""}, {stepped{shard: "b"}, "no-hurry a:400 b:400"},
		},
		"nothing is left to do": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{othersWaiting{true}, "hurry pause"},
			{stepped{shard: "a", result: layer.StepResult{Documents: 1, Done: true}}, ""},
			{stepped{shard: "b", result: layer.StepResult{Documents: 1, Done: true}}, "no-hurry finish"},
		},
		"the connection breaks meanwhile: it begins anew, and is asked again": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{othersWaiting{true}, "hurry pause"}, {stepped{shard: "a", err: cut}, ""},
			{turnOver{}, "pause"}, {stepped{shard: "b", result: layer.StepResult{Documents: 1}}, "begin"},
			{begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
		},
		"the last batch": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{stepped{shard: "a", result: layer.StepResult{Done: true}}, ""},
			{stepped{shard: "b", result: layer.StepResult{Done: true}}, "finish"},
			{othersWaiting{true}, ""}, {buildFinished{}, "report <nil>"},
		},
		"the connection to the store breaks": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"},
			{stepped{shard: "a", err: cut}, ""}, {turnOver{}, "pause"}, {stepped{shard: "b", err: cut}, "begin"},
			{turnOver{}, "pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
		},
		"the job is lost meanwhile": {
			{runtime.Started{}, "begin pause pause"}, {begun, "a:100 b:100"}, {turnOver{}, "indexing.askWaiting"},
			{othersWaiting{true}, "hurry pause"},
			{stepped{shard: "a", err: &layer.Error{Kind: layer.Conflict}}, "end <nil> stop"},
		},
	} {
		b := &indexerBehavior{lives: 1, parallel: 2, first: 100, renewEvery: time.Second, turn: time.Second,
			backoff: runtime.NewBackoff(time.Millisecond, time.Second), setProgress: func(IndexerFacts) {}}
		for i, turn := range turns {
			if got := renderIndexing(b.Step(time.Unix(1000, 0), turn.message)); got != turn.want {
				t.Fatalf("%s: turn %d, %+v: %q, want %q", name, i, turn.message, got, turn.want)
			}
		}
	}
}

// A shared build can be hurried again after it has gone on.
func TestSharedBuild_Hurry(t *testing.T) {
	b := &sharedBuild{hurried: make(chan struct{})}
	for i, on := range []bool{true, true, false, false, true} {
		b.Hurry(on)
		select {
		case <-b.hurried:
			if !on {
				t.Errorf("%d: it is hurried", i)
			}
		default:
			if on {
				t.Errorf("%d: it is not hurried", i)
			}
		}
	}
}

func TestIndexerBehavior_Progress(t *testing.T) {
	b := &indexerBehavior{
		lives:       1,
		parallel:    4,
		first:       100,
		backoff:     runtime.NewBackoff(1, 1),
		setProgress: func(IndexerFacts) {},
	}
	b.Step(time.Time{}, runtime.Started{})
	b.Step(time.Time{}, buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"b", "a"}, Changes: 150}})
	b.Step(time.Time{}, stepped{shard: "b", result: layer.StepResult{Documents: 100, Rows: 250}})
	b.Step(time.Time{}, stepped{shard: "a", result: layer.StepResult{Documents: 30, Done: true}})
	_, facts := b.Status()
	f := facts.(IndexerFacts)
	if f.Documents != 130 || f.Total != 150 || f.Rows != 250 || len(f.Shards) != 2 || f.Shards[0].Shard != "a" ||
		!f.Shards[0].Done ||
		f.Shards[1].Documents != 100 {
		t.Errorf("facts %+v", f)
	}
}

// A build that was taken over may not know all that was done before. Once nothing is left to do, it is complete.
func TestIndexerBehavior_takenOver(t *testing.T) {
	b := &indexerBehavior{lives: 1, parallel: 4, first: 100, setProgress: func(IndexerFacts) {}}
	for _, c := range []struct {
		m           any
		done, total int64
	}{
		{runtime.Started{}, 0, 0},
		{buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a", "b"}, Changes: 5002, Resumed: true},
			done: IndexerFacts{Documents: 1000, Total: 5002}}, 1000, 5002},
		{stepped{shard: "a", result: layer.StepResult{Documents: 2000, Done: true}}, 3000, 5002},
		{stepped{shard: "b", result: layer.StepResult{Documents: 589, Done: true}}, 3589, 3589},
	} {
		b.Step(time.Time{}, c.m)
		_, facts := b.Status()
		if f := facts.(IndexerFacts); f.Documents != c.done || f.Total != c.total {
			t.Errorf("after %+v: %d of %d, want %d of %d", c.m, f.Documents, f.Total, c.done, c.total)
		}
	}
}

// The job of a build that has ended reports all that was done.
func TestIndexerBehavior_lastReport(t *testing.T) {
	b := &indexerBehavior{lives: 1, parallel: 1, first: 100, setProgress: func(IndexerFacts) {}}
	var last []runtime.Effect
	for _, m := range []any{runtime.Started{},
		buildStarted{plan: ports.Plan{Shards: []layer.ShardID{"a"}, Changes: 301}},
		stepped{shard: "a", result: layer.StepResult{Documents: 300, Done: true}}, buildFinished{}} {
		last = b.Step(time.Time{}, m)
	}
	if r, ok := last[0].(reportJob); !ok || !strings.Contains(string(r.progress), `"changes_done":300,"total_changes":300,`) {
		t.Errorf("%+v", last)
	}
}

func TestDatabaseOf(t *testing.T) {
	for _, database := range []string{"a", "a/b", "a/b/c"} {
		j := indexJob{IndexJob: layer.IndexJob{Database: database, Signature: "s"}}
		if got := databaseOf(indexJobs, j.id()); got != database {
			t.Errorf("%s: %s", j.id(), got)
		}
		j.Shard = "0"
		if got := databaseOf(shardJobs, j.id()); got != database {
			t.Errorf("%s: %s", j.id(), got)
		}
	}
	if got := databaseOf(shardJobs, "x"); got != "" {
		t.Error(got)
	}
}

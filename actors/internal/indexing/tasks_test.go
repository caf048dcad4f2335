package indexing

import (
	"testing"
	"time"

	"github.com/divandb/divan/actors/internal/jobs"
	"github.com/divandb/divan/layer"
)

// A task tells what was done in earlier runs apart from what this run has done, which its rate is about, and is at 100
// percent only when all shards are done.
func TestTasks(t *testing.T) {
	x := &Indexing{builds: newBuilds(nil), queue: &jobs.Queue{}}
	build := &task{key: indexKey{signature: "s"}, job: layer.Job{Type: indexJobs}, since: time.Now()}
	build.mu.most = IndexerFacts{Documents: 1000, Total: 1200}
	build.mu.progress, build.mu.earlier = build.mu.most, 1000
	x.builds.add(build)
	for _, c := range []struct {
		facts    IndexerFacts
		resumed  bool
		earlier  int64
		progress int
	}{
		{facts: IndexerFacts{Documents: 1100, Total: 1200}, resumed: true, earlier: 1000, progress: 91},
		{facts: IndexerFacts{Documents: 1200, Total: 1200, Shards: []IndexShardFacts{{Done: true}, {}}}, resumed: true,
			earlier: 1000, progress: 99},
		{facts: IndexerFacts{Documents: 1200, Total: 1200, Shards: []IndexShardFacts{{Done: true}}}, resumed: true,
			earlier: 1000, progress: 100},
		{facts: IndexerFacts{Documents: 1200}, resumed: true, earlier: 1000},
		{facts: IndexerFacts{Documents: 300, Total: 1200}, progress: 25}, // it had to begin again
	} {
		build.resume(c.resumed)
		build.setProgress(time.Now(), c.facts)
		if got := x.Tasks()[0]; got.Earlier != c.earlier || got.Progress != c.progress {
			t.Errorf("%+v: %d in earlier runs, %d %%", c.facts, got.Earlier, got.Progress)
		}
	}
}

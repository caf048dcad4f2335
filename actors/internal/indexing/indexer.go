package indexing

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/divandb/divan/actors/internal/ports"
	"github.com/divandb/divan/actors/internal/runtime"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// Batch sizes adapt by additive increase and multiplicative decrease, as CouchDB's did on FoundationDB: they grow fast
// until the first slow batch, and slowly afterwards. The first, small batches grow even faster, because each has a
// fixed cost, and with concurrent writers the store may take long to answer.
const (
	maxBatch     = 5000
	fastFactor   = 4 // for batches much faster than slowBatch
	fastIncrease = 500
	slowIncrease = 100
	// slowBatch is the duration above which the next batch is smaller. The layer divides batches into transactions
	// anyway. Batches only determine reports and the turns of shards, and short ones wait for the store more often.
	slowBatch = 2 * time.Second

	// maxLives is how often an indexer may crash on one job before the job has failed.
	maxLives = 5
	// maxFailures is how many times in a row a batch, or the start or end of a build, may fail before the job has
	// failed.
	maxFailures = 8
	// awayPause is the pause before a step that found no store is tried again. Such steps wait by themselves at first,
	// and then fail at once.
	awayPause = 200 * time.Millisecond
	// lookForOthers is how often a build whose turn is over looks whether others wait.
	lookForOthers = time.Second
)

// indexerBehavior runs one index job (clauses V3, P8): it fixes the goal, runs one task per changes shard in batches
// until all have reached it, and closes the job. It renews the lease all the time, and stops when another worker has
// taken it. The store checks the lease in every transaction, so an indexer that has not noticed yet does no harm.
type indexerBehavior struct {
	lives int    // how often the job was begun on this node, including now
	crash string // how the previous life ended
	// maximum number of shards at a time; for a shared build all of them, since others do the steps
	parallel    int
	part        bool // the job is one shard of a build that another indexer began and will close
	first       int  // size of the first batch, in documents
	renewEvery  time.Duration
	turn        time.Duration // after which it lets others that wait have the worker; 0: never
	backoff     runtime.Backoff
	setProgress func(IndexerFacts)

	phase    indexerPhase
	build    ports.Build
	shards   map[layer.ShardID]*shardTask
	order    []layer.ShardID
	slow     bool // there was a slow batch
	failures int  // consecutive failures of the start or the end
	lost     int  // how often the build was begun anew since its last batch, because the connection to the store broke
	advanced bool // a batch of this life had documents
	facts    IndexerFacts
	earlier  shardTask // progress of shards that no longer exist
}

type indexerPhase string

const (
	indexerStarting  indexerPhase = "starting"
	indexerBuilding  indexerPhase = "building"
	indexerLosing    indexerPhase = "losing"   // the build's snapshot is lost: it begins anew once no batch is running
	indexerYielding  indexerPhase = "yielding" // its turn is over: it gives the worker up once no batch is running
	indexerClosing   indexerPhase = "closing"
	indexerReporting indexerPhase = "reporting"
	indexerDone      indexerPhase = "done"
)

// shardTask is one shard's part of the build.
type shardTask struct {
	batch     int
	running   bool
	pausing   bool
	failures  int // consecutive
	backoff   runtime.Backoff
	documents int64
	rows      int64
	seq       layer.Seq
	done      bool
}

// IndexerFacts describe the progress of an indexer's job.
type IndexerFacts struct {
	Documents int64             `json:"changes_done"`
	Total     int64             `json:"total_changes"` // roughly; 0 if unknown
	Rows      int64             `json:"rows"`
	Batch     int               `json:"batch"`           // size of the last batch
	Turns     int               `json:"turns,omitempty"` // how many are over
	Error     string            `json:"error,omitempty"`
	Shards    []IndexShardFacts `json:"shards,omitempty"`
}

// IndexShardFacts describe the progress of one shard.
type IndexShardFacts struct {
	Shard     layer.ShardID `json:"shard"`
	Documents int64         `json:"changes_done"`
	Rows      int64         `json:"rows"`
	Done      bool          `json:"done"`
}

// encode returns the job's progress as JSON.
func (f IndexerFacts) encode() []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err) // encoding numbers and strings never fails
	}
	return b
}

// Messages of an indexer.
type (
	buildStarted struct {
		build ports.Build
		plan  ports.Plan
		done  IndexerFacts // progress of an earlier run
		err   error
	}
	stepped struct {
		shard  layer.ShardID
		result layer.StepResult
		took   time.Duration
		err    error
	}
	stepAgain     struct{ shard layer.ShardID }
	startAgain    struct{}
	closeAgain    struct{}
	buildFinished struct{ err error }
	renewNow      struct{}
	renewed       struct{ err error }
	jobReported   struct{ outcome error } // the job's end was reported
	turnOver      struct{}
	othersWaiting struct{ are bool } // for a worker
)

// Effects of an indexer.
type (
	startBuild struct{ after ports.Build } // after, unless nil, is an earlier one, which is closed first
	stepShard  struct {
		build ports.Build
		shard layer.ShardID
		n     int
	}
	finishBuild struct{ build ports.Build }
	renewLease  struct {
		progress IndexerFacts
		advanced bool
	}
	// reportJob ends the job in the queue, successfully or with an error. outcome is passed to those who wait for the
	// index. progress, unless nil, is the last report of a job that is done.
	reportJob struct {
		err, outcome error
		progress     []byte
	}
	askWaiting struct{} // whether other jobs wait for a worker
	hurryBuild struct {
		build ports.Build
		on    bool
	}
	// postponeJob lets the job wait for its next turn.
	postponeJob struct{ progress IndexerFacts }
	// endTask removes the task and notifies those who wait.
	endTask struct{ outcome error }
)

func (b *indexerBehavior) Step(_ time.Time, message any) []runtime.Effect {
	if b.phase == indexerDone {
		return nil
	}
	if b.phase == indexerReporting {
		if m, ok := message.(jobReported); ok {
			// If the report failed, the lease expires and a worker repeats the end of the job, with no work left or
			// with the same failure.
			return b.end(m.outcome)
		}
		return nil // late results are ignored
	}
	switch m := message.(type) {
	case runtime.Started:
		if b.lives > maxLives {
			return b.report(fmt.Errorf("the indexer crashed %d times: %s", maxLives, b.crash))
		}
		b.phase = indexerStarting
		e := []runtime.Effect{b.start(), runtime.After{Delay: b.renewEvery, Message: renewNow{}}}
		if b.turn > 0 && !b.part { // the parts of a shared build end with it
			e = append(e, runtime.After{Delay: b.turn, Message: turnOver{}})
		}
		return e
	case startAgain:
		return []runtime.Effect{b.start()}
	case buildStarted:
		return b.begun(m)
	case stepped:
		e := b.stepped(m)
		if b.phase == indexerYielding {
			e = append(e, b.yield()...)
		}
		return e
	case turnOver: // do others wait for a worker?
		if b.phase == indexerBuilding {
			return []runtime.Effect{askWaiting{}}
		}
		return b.lookAgain()
	case othersWaiting:
		if !m.are || b.phase != indexerBuilding {
			return b.lookAgain()
		}
		b.phase = indexerYielding
		return append(append([]runtime.Effect{hurryBuild{b.build, true}}, b.lookAgain()...), b.yield()...)
	case stepAgain:
		if t := b.shards[m.shard]; t != nil { // nil if the build was begun anew, without the shard
			t.pausing = false
		}
		return b.next()
	case closeAgain:
		return []runtime.Effect{finishBuild{b.build}}
	case buildFinished:
		return b.finished(m)
	case renewNow:
		return []runtime.Effect{renewLease{b.facts, b.advanced}}
	case renewed:
		switch layer.KindOf(m.err) {
		case layer.Conflict:
			return b.end(nil)
		case layer.NotFound:
			return b.void(m.err)
		}
		return []runtime.Effect{runtime.After{Delay: b.renewEvery, Message: renewNow{}}}
	}
	return nil
}

// start begins the build, after what is left of an earlier beginning.
func (b *indexerBehavior) start() runtime.Effect {
	e := startBuild{after: b.build}
	b.build = nil
	return e
}

func (b *indexerBehavior) begun(m buildStarted) []runtime.Effect {
	if m.err != nil {
		return b.failed(m.err, startAgain{})
	}
	b.failures, b.phase, b.build = 0, indexerBuilding, m.build
	b.facts.Total, b.facts.Turns = m.plan.Changes, m.done.Turns
	if m.done.Total > 0 {
		b.facts.Total = m.done.Total // of the same documents; deleted ones are not counted twice
	}
	b.order = slices.Clone(m.plan.Shards)
	if m.plan.Shared && !b.part {
		b.parallel = len(b.order)
	}
	b.shards = map[layer.ShardID]*shardTask{}
	for _, id := range b.order {
		b.shards[id] = &shardTask{batch: b.first, backoff: b.backoff}
	}
	b.resume(m.done)
	return b.next()
}

// lookAgain looks later whether others wait, unless the build is about to end.
func (b *indexerBehavior) lookAgain() []runtime.Effect {
	switch b.phase {
	case indexerStarting, indexerBuilding, indexerLosing, indexerYielding:
		return []runtime.Effect{runtime.After{Delay: lookForOthers, Message: turnOver{}}}
	}
	return nil
}

// yield lets the job wait for its next turn as soon as no batch is running. A build goes on if it has no work left, has
// done none yet, or fails: it would begin its next turn where it began this one, and count its failures anew.
func (b *indexerBehavior) yield() []runtime.Effect {
	open, fails := false, false
	for _, t := range b.shards {
		if t.running {
			return nil
		}
		open = open || !t.done
		fails = fails || t.failures > 0
	}
	if !open || fails || !b.advanced {
		b.phase = indexerBuilding
		return append([]runtime.Effect{hurryBuild{b.build, false}}, b.next()...)
	}
	b.phase = indexerReporting
	b.facts.Turns++
	return []runtime.Effect{postponeJob{b.facts}}
}

// resume takes over the progress of an earlier run.
func (b *indexerBehavior) resume(done IndexerFacts) {
	b.earlier.documents, b.earlier.rows = done.Documents, done.Rows
	for _, shard := range done.Shards {
		if t := b.shards[shard.Shard]; t != nil {
			t.documents, t.rows = shard.Documents, shard.Rows
			b.earlier.documents -= t.documents
			b.earlier.rows -= t.rows
		}
	}
	b.count()
}

// next starts as many batches as may run at once, of shards that are not done. When all are done, it closes the build.
func (b *indexerBehavior) next() []runtime.Effect {
	if b.phase != indexerBuilding {
		return nil
	}
	var e []runtime.Effect
	running, open := 0, 0
	for _, t := range b.shards {
		if t.running {
			running++
		}
		if !t.done {
			open++
		}
	}
	if open == 0 {
		b.phase, b.failures = indexerClosing, 0
		return []runtime.Effect{finishBuild{b.build}}
	}
	for _, id := range b.order {
		t := b.shards[id]
		if running >= b.parallel {
			break
		}
		if !t.done && !t.running && !t.pausing {
			t.running = true
			running++
			e = append(e, stepShard{b.build, id, t.batch})
		}
	}
	return e
}

func (b *indexerBehavior) stepped(m stepped) []runtime.Effect {
	t := b.shards[m.shard]
	t.running = false
	if b.phase == indexerLosing || errors.Is(m.err, kv.ErrConnectionLost) && b.lost < maxFailures {
		return b.lose(m.err)
	}
	if m.err != nil {
		if e := b.hopeless(m.err); e != nil {
			return e
		}
		b.facts.Error = m.err.Error()
		if kv.IsCode(m.err, kv.CodeUnreachable) { // see failed
			t.pausing = true
			return append(b.next(), runtime.After{Delay: awayPause, Message: stepAgain{m.shard}})
		}
		if t.failures++; t.failures > maxFailures {
			return b.report(fmt.Errorf("shard %s: %w", m.shard, m.err))
		}
		t.batch = max(1, t.batch/2)
		b.slow, t.pausing = true, true
		return append(b.next(), runtime.After{Delay: t.backoff.Next(), Message: stepAgain{m.shard}})
	}
	t.failures, b.lost, b.facts.Error = 0, 0, ""
	b.advanced = b.advanced || m.result.Documents > 0
	t.backoff.Reset()
	t.documents += int64(m.result.Documents)
	t.rows += int64(m.result.Rows)
	t.seq, t.done = m.result.Seq, m.result.Done
	b.facts.Batch = t.batch
	switch {
	case m.took > slowBatch:
		b.slow = true
		t.batch = max(1, t.batch*4/5)
	case b.slow:
		t.batch = min(maxBatch, t.batch+slowIncrease)
	case m.took < slowBatch/8:
		t.batch = min(maxBatch, fastFactor*t.batch)
	default:
		t.batch = min(maxBatch, t.batch+fastIncrease)
	}
	b.count()
	// Rotate, so that all shards get a turn if there are more than may run at once.
	i := slices.Index(b.order, m.shard)
	b.order = append(slices.Delete(b.order, i, i+1), m.shard)
	return b.next()
}

// lose begins the build anew, from the progress that the store knows, as soon as no batch is running: the snapshot that
// batches read ended with the connection. That is no failure of the job, and requests go on waiting.
func (b *indexerBehavior) lose(err error) []runtime.Effect {
	if e := b.hopeless(err); e != nil {
		return e
	}
	b.phase = indexerLosing
	for _, t := range b.shards {
		if t.running {
			return nil
		}
	}
	b.lost++
	b.phase = indexerStarting
	return []runtime.Effect{b.start()}
}

// count adds up the progress of the shards.
func (b *indexerBehavior) count() {
	b.facts.Documents, b.facts.Rows = b.earlier.documents, b.earlier.rows
	b.facts.Shards = make([]IndexShardFacts, 0, len(b.shards))
	open := false
	for _, id := range slices.Sorted(maps.Keys(b.shards)) {
		t := b.shards[id]
		b.facts.Documents += t.documents
		b.facts.Rows += t.rows
		open = open || !t.done
		b.facts.Shards = append(b.facts.Shards,
			IndexShardFacts{Shard: id, Documents: t.documents, Rows: t.rows, Done: t.done})
	}
	switch {
	case !open: // the total was a guess, and what a node did before it died may not have been reported
		b.facts.Total = b.facts.Documents
	case b.facts.Total > 0:
		b.facts.Total = max(b.facts.Total, b.facts.Documents)
	}
}

// finished handles the end of the build.
func (b *indexerBehavior) finished(m buildFinished) []runtime.Effect {
	if m.err != nil {
		return b.failed(m.err, closeAgain{})
	}
	b.phase = indexerReporting
	return []runtime.Effect{reportJob{progress: b.facts.encode()}}
}

// failed retries the start or the end of the build later, or fails the job.
func (b *indexerBehavior) failed(err error, again any) []runtime.Effect {
	if e := b.hopeless(err); e != nil {
		return e
	}
	b.facts.Error = err.Error()
	if storeAway(err) { // until it is back, or another worker has the job
		return []runtime.Effect{runtime.After{Delay: awayPause, Message: again}}
	}
	b.failures++
	if b.failures > maxFailures {
		return b.report(err)
	}
	return []runtime.Effect{runtime.After{Delay: b.backoff.Next(), Message: again}}
}

// hopeless returns what to do about errors that a retry cannot cure, or nil for others.
func (b *indexerBehavior) hopeless(err error) []runtime.Effect {
	switch layer.KindOf(err) {
	case layer.Conflict:
		if b.part {
			return b.report(nil) // the build is over, and the node that began it handles the rest
		}
		return b.end(nil) // another worker has the job now; requests continue to wait
	case layer.NotFound:
		return b.void(err) // the database is gone
	case layer.Invalid, layer.NotImplemented, layer.TooLarge:
		return b.report(err)
	}
	return nil
}

func (b *indexerBehavior) report(err error) []runtime.Effect {
	b.phase = indexerReporting
	if err != nil {
		b.facts.Error = err.Error()
	}
	return []runtime.Effect{reportJob{err: err, outcome: err}}
}

// void ends a job whose design document or database is gone, which is not a failure.
func (b *indexerBehavior) void(reason error) []runtime.Effect {
	b.phase = indexerReporting
	return []runtime.Effect{reportJob{outcome: reason}}
}

// end leaves the task, with the outcome for those who wait.
func (b *indexerBehavior) end(outcome error) []runtime.Effect {
	b.phase = indexerDone
	return []runtime.Effect{endTask{outcome}, runtime.StopSelf{}}
}

func (b *indexerBehavior) Status() (string, any) {
	b.setProgress(b.facts)
	return string(b.phase), b.facts
}

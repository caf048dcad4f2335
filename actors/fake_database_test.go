package actors_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/divandb/divan/actors"
	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/kv"
)

// watch is a kv.Watch on one key of a fake.
type watch struct {
	w    *watches
	key  string
	done chan struct{}
	err  error
}

// watches has the armed watches of a fake, by key. Its users hold mu.
type watches struct {
	mu    *sync.Mutex
	armed map[*watch]bool
}

func (w *watches) arm(key string) *watch {
	x := &watch{w: w, key: key, done: make(chan struct{})}
	w.armed[x] = true
	return x
}

// fire fires the watches on a key, or all if it is empty.
func (w *watches) fire(key string, err error) {
	for x := range w.armed {
		if key == "" || x.key == key {
			x.end(err)
		}
	}
}

func (x *watch) end(err error) {
	x.err = err
	delete(x.w.armed, x)
	close(x.done)
}

func (x *watch) Done() <-chan struct{} { return x.done }

func (x *watch) Err() error {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	return x.err
}

func (x *watch) Cancel() {
	x.w.mu.Lock()
	defer x.w.mu.Unlock()
	if x.w.armed[x] {
		x.end(context.Canceled)
	}
}

// database is a database with one number per shard, which a commit increases. It has one design document with one
// index, whose content is how many commits of each shard it has indexed.
type database struct {
	name    string
	store   *store
	number  int64
	design  *layer.Design // nil: deleted
	mu      sync.Mutex
	watches watches
	version map[layer.ShardID]uint64
	fault   func() error              // of WatchShard
	arming  func(ctx context.Context) // called by WatchShard when it has settled, without mu

	indexed    map[layer.ShardID]uint64 // visible to readers
	built      map[layer.ShardID]uint64 // in the current build
	cut        map[layer.ShardID]uint64 // the goal of a build that takes several turns
	token      int64                    // of the newest build
	building   bool
	goal       layer.Seq
	open       int // builds not closed
	stepFault  func(shard layer.ShardID) error
	finishes   int
	finishers  []int64 // tokens of finished builds
	aggregated uint64  // commits that were indexed when aggregates were last updated
	catchUps   int
	designs    int // how often the design documents were read

	vainCatchUps int
	catchingUp   func() // called by CatchUp, without mu
	beforeBegin  func() // called by Begin, without mu
	aggregates   func() // called in the middle of Aggregate, without mu
	stateFault   func() error
	gone         bool // the database was deleted
}

// deleted returns the error if the database was deleted. The caller holds mu.
func (d *database) deleted() error {
	if d.gone {
		return &layer.Error{Kind: layer.NotFound, Reason: "Database does not exist."}
	}
	return nil
}

func newDatabase(name string) *database {
	d := &database{name: name, version: map[layer.ShardID]uint64{}, indexed: map[layer.ShardID]uint64{},
		design: &layer.Design{ID: "_design/by", Signature: "0123456789abcdef0123456789abcdef"}}
	d.watches = watches{mu: &d.mu, armed: map[*watch]bool{}}
	return d
}

func (d *database) Name() string { return d.name }

func (d *database) Number() int64 { return d.number }

func (d *database) WatchShard(ctx context.Context, shard layer.ShardID, settled func()) (
	kv.Watch, layer.Seq, error,
) {
	seen, arming, err := d.looked(shard)
	if err != nil {
		return nil, layer.Seq{}, err
	}
	settled()
	if arming != nil {
		arming(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	w := d.watches.arm(string(shard))
	if d.version[shard] != seen {
		w.end(nil)
	}
	return w, sequence(seen), nil
}

// looked returns what a watch sees of a shard.
func (d *database) looked(shard layer.ShardID) (seen uint64, arming func(ctx context.Context), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault != nil {
		err = d.fault()
	}
	return d.version[shard], d.arming, err
}

func (d *database) commit(shard layer.ShardID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.version[shard]++
	d.watches.fire(string(shard), nil)
}

func (d *database) at(shard layer.ShardID) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.version[shard]
}

func (d *database) armed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.watches.armed)
}

func (d *database) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func sequence(n uint64) (s layer.Seq) {
	for i := range 8 {
		s.Stamp[11-i] = byte(n >> (8 * i))
	}
	return s
}

func sum(m map[layer.ShardID]uint64) (n uint64) {
	for _, v := range m {
		n += v
	}
	return n
}

func (d *database) Shards(context.Context) ([]layer.ShardID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.version)), d.deleted()
}

func (d *database) Designs(context.Context) ([]*layer.Design, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.designs++
	if d.design == nil || d.gone {
		return nil, d.deleted()
	}
	return []*layer.Design{d.design}, nil
}

func (d *database) CompactionState(context.Context) (s layer.CompactionState, err error) {
	return s, nil
}

func (d *database) RunCompaction(context.Context, func(layer.Compacted) error) error { return nil }

func (d *database) CleanupViews(context.Context) error { return nil }

func (d *database) IndexOf(*layer.Design) actors.Index { return index{d} }

type index struct{ d *database }

func (ix index) State(context.Context) (layer.IndexState, error) {
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	if ix.d.stateFault != nil {
		if err := ix.d.stateFault(); err != nil {
			return layer.IndexState{}, err
		}
	}
	return layer.IndexState{Seq: sequence(sum(ix.d.indexed)), LastSeq: sequence(sum(ix.d.version)),
		Building: ix.d.building, Goal: ix.d.goal}, nil
}

func (ix index) BriefState(ctx context.Context) (layer.IndexState, error) { return ix.State(ctx) }

func (ix index) CatchUp(_ context.Context, n int) (bool, error) {
	if ix.d.catchingUp != nil {
		ix.d.catchingUp()
	}
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	if ix.d.building || sum(ix.d.version)-sum(ix.d.indexed) > uint64(n) {
		ix.d.vainCatchUps++
		return false, nil
	}
	for shard, v := range ix.d.version {
		ix.d.indexed[shard] = v
	}
	ix.d.catchUps++
	return true, nil
}

func (ix index) job() layer.IndexJob {
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	of := layer.IndexJob{Database: ix.d.name}
	if ix.d.design != nil {
		of.Design, of.Signature = ix.d.design.ID, ix.d.design.Signature
	}
	return of
}

func (ix index) FollowBuild(ctx context.Context) (layer.BuildProgress, error) {
	// The watch comes first: any later change of the job counts.
	p, err := ix.d.store.build(ix.job(), nil)
	if err == nil {
		p.State, err = ix.State(ctx)
	}
	return released(p, err)
}

func (ix index) RequestBuild(ctx context.Context, until layer.Seq) (layer.BuildProgress, error) {
	state, err := ix.State(ctx)
	if err != nil {
		return layer.BuildProgress{}, err
	}
	p, err := ix.d.store.build(ix.job(), func(j *layer.Job) bool {
		return state.Seq.Compare(until) < 0 && (j == nil || j.State != layer.JobRunning)
	})
	p.State = state
	return released(p, err)
}

func released(p layer.BuildProgress, err error) (layer.BuildProgress, error) {
	if err != nil && p.Watch != nil {
		p.Watch.Cancel()
	}
	return p, err
}

func (d *database) Join(context.Context, layer.IndexJob, int64, layer.ShardID) (actors.Build, error) {
	return nil, &layer.Error{Kind: layer.Conflict, Reason: "not shared"}
}

func (ix index) Aggregate(context.Context) error {
	ix.d.mu.Lock()
	defer ix.d.mu.Unlock()
	indexed := sum(ix.d.indexed)
	if f := ix.d.aggregates; f != nil && ix.d.aggregated < indexed {
		ix.d.mu.Unlock()
		f()
		ix.d.mu.Lock()
	}
	if err := ix.d.deleted(); err != nil {
		return err
	}
	ix.d.aggregated = indexed
	return nil
}

func (d *database) Begin(_ context.Context, of layer.IndexJob, token int64, with layer.BuildOptions) (actors.Build,
	error) {
	if d.beforeBegin != nil {
		d.beforeBegin()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.design == nil || d.design.Signature != of.Signature {
		return nil, &layer.Error{Kind: layer.NotFound, Reason: "no design document has this index any more"}
	}
	if token < d.token {
		return nil, &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	b := &build{d: d, token: token, resumed: d.building, goal: map[layer.ShardID]uint64{},
		reached: map[layer.ShardID]uint64{}}
	if d.token, d.building = token, true; !b.resumed {
		d.built = maps.Clone(d.indexed)
	}
	d.open++
	for shard, v := range d.version {
		b.goal[shard], b.reached[shard] = v, d.built[shard]
	}
	if b.resumed && with.Turns {
		if d.cut == nil {
			d.cut = b.goal
		}
		b.goal = maps.Clone(d.cut)
	}
	d.goal = sequence(sum(b.goal))
	return b, nil
}

type build struct {
	d             *database
	token         int64
	goal, reached map[layer.ShardID]uint64
	resumed       bool
	closed        bool
}

func (b *build) Plan() actors.Plan {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	p := actors.Plan{Goal: sequence(sum(b.goal)), Changes: int64(sum(b.goal) - sum(b.reached)), Resumed: b.resumed}
	for shard := range b.goal {
		p.Shards = append(p.Shards, shard)
	}
	return p
}

func (b *build) Step(_ context.Context, shard layer.ShardID, n int) (layer.StepResult, error) {
	b.d.mu.Lock()
	fault := b.d.stepFault
	b.d.mu.Unlock()
	if fault != nil {
		if err := fault(shard); err != nil {
			return layer.StepResult{}, err
		}
	}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.closed {
		panic("a step of a closed build")
	}
	if b.token != b.d.token {
		return layer.StepResult{}, &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	left := b.goal[shard] - b.reached[shard]
	take := min(left, uint64(n))
	b.reached[shard] += take
	b.d.built[shard] = b.reached[shard]
	return layer.StepResult{Documents: int(take), Rows: int(take), Done: take == left}, nil
}

func (b *build) Reached(context.Context, layer.ShardID) (layer.StepResult, error) {
	return layer.StepResult{}, &layer.Error{Kind: layer.Conflict, Reason: "not shared"}
}

func (b *build) Hurry(bool) {}

func (b *build) Finish(context.Context) error {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.token != b.d.token {
		return &layer.Error{Kind: layer.Conflict, Reason: "lost"}
	}
	for shard, goal := range b.goal {
		if b.reached[shard] != goal {
			return fmt.Errorf("shard %s is at %d, not at %d", shard, b.reached[shard], goal)
		}
		b.d.indexed[shard] = goal
	}
	b.d.building, b.d.cut = false, nil
	b.d.finishes++
	b.d.finishers = append(b.d.finishers, b.token)
	return nil
}

func (b *build) Close() {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if !b.closed {
		b.closed = true
		b.d.open--
	}
}

package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// After reading all rows, Verify compares them with each other. It goes through each part of a database document by
// document, in both directions, with a limited number of documents in memory. Whatever is compared is read at one
// version: from a snapshot, or, if the engine holds none, in one of many transactions, each for some documents. So
// concurrent writes do not look like faults. Sums over a whole database or partition are compared with its counters if
// there is a snapshot, or if nothing was written in the meantime.

const (
	// checkWindow is how many documents are checked together. Without snapshots, it is reduced after a transaction that
	// became too old.
	checkWindow = 64
	// maxDoubts is how many differences are kept that may be due to concurrent writes.
	maxDoubts = 1000
	// checkRows, checkBytes and checkTime limit a transaction if the engine holds no snapshots.
	checkRows  = 2000
	checkBytes = 4_000_000
	checkTime  = time.Second
)

// checker compares the rows of one database.
type checker struct {
	v     *verifier
	ctx   context.Context
	core  *db.Core
	keys  db.Space
	exact bool            // r is a snapshot
	r     kv.Reader       // of the current transaction
	cfg   *db.Config      // at r's version
	found []Damage        // not reported yet
	lost  map[string]bool // unreadable parts of the database that have been reported
	sums  map[string]int64
	added map[string]int64 // to be added to sums, from the current documents

	doubts     []Damage // faults unless there were concurrent writes
	partitions partitionSums
	miscounted map[string]int64 // by how much counters are too high according to reported faults
	window     int
	winners    winners // pending reads of winners
	inRange    docRangeName

	beside, besideBytes int // rows read in addition to those of the walk, in the current transaction
}

// most returns about how many rows are read in a transaction if the engine holds no snapshots.
func (x *checker) most() int { return cmp.Or(x.v.o.Rows, checkRows) }

// maxFailures is how many databases in a row may fail to be compared before the rest is skipped.
const maxFailures = 10

// compare compares the rows of all databases without damage; damage has been reported already. If some databases cannot
// be compared, it continues with the others and returns a not_compared error at the end.
func (v *verifier) compare() error {
	var failed notCompared
	for i, c := range v.databases {
		if v.hurt[c.Name] {
			continue
		}
		x := &checker{v: v, ctx: v.ctx, core: c, keys: c.Keys, sums: map[string]int64{}, added: map[string]int64{},
			partitions: newPartitionSums(), miscounted: map[string]int64{}, lost: map[string]bool{},
			window: checkWindow}
		err := x.run()
		switch {
		case v.stopped != nil || v.ctx.Err() != nil:
			return err
		// It may have been deleted in the meantime.
		case err == nil || fault.KindOf(err) == fault.NotFound:
			failed.row = 0
		case failed.add(c.Name, err) == maxFailures:
			failed.left = len(v.databases) - i - 1
			return failed.err()
		}
	}
	return failed.err()
}

// notCompared collects the databases that could not be compared.
type notCompared struct {
	row   int // number in a row
	n     int
	left  int     // databases that were not tried
	first []error // at most maxFailures
}

func (f *notCompared) add(database string, err error) (row int) {
	if len(f.first) < maxFailures {
		f.first = append(f.first, fmt.Errorf("%s: %w", database, err))
	}
	f.n++
	f.row++
	return f.row
}

// err returns nil if there are none.
func (f *notCompared) err() error {
	if f.n == 0 {
		return nil
	}
	reason := fmt.Sprintf("%d databases could not be compared", f.n)
	if f.n == 1 {
		reason = "1 database could not be compared"
	}
	if f.left > 0 {
		reason += fmt.Sprintf(", and %d more were not tried", f.left)
	}
	for _, err := range f.first {
		reason += "; " + err.Error()
	}
	if more := f.n - len(f.first); more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return &fault.Error{Kind: fault.Unavailable, Name: "not_compared", Reason: reason, Err: errors.Join(f.first...)}
}

func (x *checker) run() error {
	snap, ok, err := kv.OpenSnapshot(x.ctx, x.v.s.Engine)
	if err != nil {
		return err
	}
	if ok {
		defer snap.Close()
		x.r, x.exact = snap, true
	}
	var before checkedState
	for _, step := range []struct {
		name string
		of   keyspace.Subspace // where unreadable data is reported
		sums bool              // needs the sums of the previous steps
		run  func() error
	}{
		{"documents", keyspace.Config, false, func() error { return x.at(x.load) }},
		{"documents", keyspace.Wake, false, func() (err error) {
			before, err = x.state()
			return err
		}},
		{"documents", keyspace.Revisions, false, documentCheck{x}.documents},
		{"feeds", keyspace.Changes, false, feedCheck{x}.feeds},
		{"feeds", keyspace.FeedCounts, false, feedCheck{x}.feedCounts},
		{"lists", keyspace.AllDocs, false, x.lists},
		{"lists", keyspace.Local, false, x.locals},
		{"queues", keyspace.ShardSuperseded, false, queueCheck{x}.queues},
		{"bodies", keyspace.Documents, false, bodyCheck{x}.bodies},
		{"attachments", keyspace.AttachmentRefs, false, orphanCheck{x}.references},
		{"attachments", keyspace.Attachments, false, attachmentCheck{x}.attachments},
		{"counters", keyspace.Counters, true, partitionCheck{x}.emptyPartitions},
		{"counters", keyspace.Counters, true, func() error { return x.counters(before) }},
		{"indexes", keyspace.Views, false, orphanCheck{x}.indexRows},
		{"indexes", keyspace.Views, false, x.indexes},
	} {
		x.v.step = step.name
		if step.sums && len(x.lost) > 0 {
			continue
		}
		if err := x.unlessLost(step.of, "", step.run()); err != nil {
			return err
		}
		if x.cfg == nil {
			return nil // nothing can be checked without it
		}
	}
	return nil
}

// unlessLost reports unreadable data if that is what err says, so that everything else can still be compared. It
// discards what was found since the last settle.
func (x *checker) unlessLost(of keyspace.Subspace, where string, err error) error {
	var lost *db.CorruptError
	if !errors.As(err, &lost) {
		return err
	}
	x.forgetWork()
	if x.lost[lost.Error()] {
		return nil
	}
	x.lost[lost.Error()] = true
	x.fault(of, "", "%s%s", where, lost.What())
	return x.settle()
}

// at calls f, which reads r, and calls it again in a new transaction if necessary.
func (x *checker) at(f func() error) error {
	if x.exact {
		return f()
	}
	_, _, err := kv.Transact(x.ctx, x.v.s.Engine, kv.TransactOptions{}, func(tx kv.Transaction) (struct{}, error) {
		x.r, x.found = tx.Snapshot(), x.found[:0]
		if err := x.load(); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, f()
	})
	return err
}

// load reads the configuration at r's version.
func (x *checker) load() (err error) {
	if x.cfg, err = x.core.Load(x.r); err == nil && x.cfg == nil {
		err = db.ErrNoDatabase()
	}
	return err
}

// fault records a fault. It is reported by settle.
func (x *checker) fault(sub keyspace.Subspace, id, format string, args ...any) {
	x.faultWith(sub, id, Parts[sub].help, format, args...)
}

func (x *checker) faultWith(sub keyspace.Subspace, id, help, format string, args ...any) {
	x.found = append(x.found, Damage{Database: x.core.Name, Part: Parts[sub].name, First: id, Last: id,
		What: fmt.Sprintf(format, args...), Help: help})
}

// doubt is fault for differences that may be due to concurrent writes if there is no snapshot. Then counters reports
// them.
func (x *checker) doubt(sub keyspace.Subspace, id, format string, args ...any) {
	kept := len(x.found)
	x.fault(sub, id, format, args...)
	if x.exact {
		return
	}
	if len(x.doubts) < maxDoubts {
		x.doubts = append(x.doubts, x.found[kept])
	}
	x.found = x.found[:kept]
}

func (x *checker) count(counter string, n int64) { x.added[counter] += n }

// settle reports the faults and keeps the sums of what has been checked.
func (x *checker) settle() error {
	for i := range x.found {
		if err := x.v.damage(&x.found[i]); err != nil {
			return err
		}
	}
	x.found = x.found[:0]
	for name, n := range x.added {
		x.sums[name] += n
	}
	clear(x.added)
	x.partitions.keep()
	return nil
}

// forgetWork discards what was found in a transaction that has to be repeated.
func (x *checker) forgetWork() {
	x.found = x.found[:0]
	clear(x.added)
	clear(x.partitions.added)
	x.winners.drop()
}

// checkedCounters are the counters that are compared with the rows.
var checkedCounters = []string{db.CounterDocs, db.CounterDeleted, db.CounterBodies, db.CounterStored, db.CounterContent,
	db.CounterSuperseded, db.CounterOldBodies, db.CounterOldStored, db.CounterOldContent, db.CounterPurges,
	db.CounterPurgesDropped}

// checkedState tells whether anything was written in between.
type checkedState struct {
	counters []int64
	last     db.Seq
	stamp    []byte        // of the configuration, which has the ranges of the list of documents
	ranges   *db.DocCounts // their counters
}

func (x *checker) state() (s checkedState, err error) {
	read := func(r kv.Reader) error {
		last := db.ReadLastSeq(r, x.keys, x.cfg)
		if s.counters, err = db.CountersOf(r, x.keys, checkedCounters...); err != nil {
			return err
		}
		if s.last, err = last(); err != nil {
			return err
		}
		s.stamp = x.cfg.Stamp
		s.ranges, err = db.ReadDocCounts(r, x.keys, x.cfg, s.counters[0])
		return err
	}
	err = x.at(func() error { return read(x.r) })
	return s, err
}

// counters compares the sums with the counters.
func (x *checker) counters(before checkedState) error {
	now, err := x.state()
	if err != nil {
		return err
	}
	if now.last != before.last {
		return nil // the sums are not of one version
	}
	for i := range checkedCounters {
		if now.counters[i] != before.counters[i] {
			return nil
		}
	}
	last := len(checkedCounters) - 1
	x.sums[db.CounterPurges] += now.counters[last] // purges that are no longer in the history
	x.found, x.doubts = append(x.found, x.doubts...), nil
	for i, name := range checkedCounters[:last] {
		if n := x.sums[name]; n+x.miscounted[name] != now.counters[i] {
			x.fault(keyspace.Counters, "", "the counter %s is %d, but there are %d", name, now.counters[i], n)
		}
	}
	if bytes.Equal(now.stamp, before.stamp) {
		docRangeCheck{x}.compare(now.ranges)
	}
	return x.settle()
}

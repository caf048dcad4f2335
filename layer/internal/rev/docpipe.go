package rev

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// Lists and feeds with documents read rows, and then what each row needs: its body or its branches. Both are done for
// many rows at a time. Rows are read on another goroutine than the one that emits them, and in a snapshot what they
// need is read on a third one: while one batch is encoded and sent, the bodies of the next one are read, and the rows
// of the one after that.

const (
	// pipeRows is the maximum number of rows that are read together. pipeRowsFirst is the number at first, so that the
	// first row is emitted early.
	pipeRows      = 512
	pipeRowsFirst = 8
	// pipeRowsHere is the maximum if rows are read and emitted by one goroutine, because the oldest row waits for the
	// newest.
	pipeRowsHere = 32
	// pipeBytes is the approximate size of the bodies of one batch. An answer that its client does not read holds two
	// batches, and the rows of a third one.
	pipeBytes = 96 << 10
	// pipesWhole is how many pipes at a time may have batches of these sizes. More of them share that memory, down to
	// pipeRowsHere and pipeBytesLeast each: a client that does not read holds it for as long as it is connected.
	pipesWhole     = 64
	pipeBytesLeast = 8 << 10
	// PipeFew is the number of rows up to which a second goroutine is not worth starting.
	PipeFew = 32
)

// pipes is how many pipes of this process read ahead.
var pipes atomic.Int64

// share returns what one of them may have of something, of which pipesWhole have most.
func share(most, least int) int {
	return max(least, min(most, most*pipesWhole/int(max(1, pipes.Load()))))
}

// DocPipe takes rows, reads what they need and emits them in order.
type DocPipe[T any] struct {
	S *Stream
	// Needs returns what a row needs. It is nil if no row needs anything.
	Needs func(row *T) *DocNeeds
	Emit  func(row *T) (more bool, err error)

	batch []T
	whole int          // size of batch when it is whole
	size  atomic.Int64 // of the next batch
	held  int          // size of the last batch's bodies
	ahead bool         // rows are read on another goroutine
	scan  BodyScan
	needs []*DocNeeds

	// Used if rows are read on another goroutine:
	out     chan handed[T] // closed at the end by who reads what rows need
	stopped chan struct{}  // closed by the emitter if it wants no more rows
	free    chan []T       // memory of emitted rows, for reuse; never closed

	// Used if what they need is read on a third one:
	batches chan []T      // closed by the reader of rows at its end
	full    chan struct{} // closed by the reader of their needs when it takes no more batches
}

// Run calls produce, which pushes rows, and emits these. With beside, produce runs on another goroutine. All goroutines
// have ended when Run returns. Emit is always called on the caller's goroutine. more is false if Emit wanted no more
// rows.
func (q *DocPipe[T]) Run(beside bool, produce func() error) (more bool, err error) {
	q.batch, q.ahead = nil, false
	q.size.Store(pipeRowsFirst)
	q.free = make(chan []T, 3)
	if !beside || q.Needs == nil {
		if err = produce(); err != nil {
			return false, err
		}
		return q.flush()
	}
	q.ahead = true
	pipes.Add(1)
	defer pipes.Add(-1)
	q.out, q.stopped = make(chan handed[T]), make(chan struct{})
	reader := side{work: func() (err error) {
		if err = produce(); err == nil {
			_, err = q.flush()
		}
		return err
	}}
	var loader side
	if q.S.Snap != nil { // otherwise rows and bodies are read in one transaction after another
		q.batches, q.full = make(chan []T), make(chan struct{})
		reader.end = func() { close(q.batches) }
		loader = side{work: q.loadAll, end: func() { close(q.full); close(q.out) }}
		go loader.run()
	} else {
		reader.end = func() { close(q.out) }
	}
	go reader.run()
	more, err = q.emitAll()
	if q.batches != nil {
		for range q.batches { // until the reader has ended
		}
	}
	q.out, q.batches = nil, nil
	for _, s := range []*side{&loader, &reader} {
		if s.panicked != nil {
			panic(s.panicked)
		}
		if err == nil && more {
			err = s.failed
		}
	}
	return more && err == nil, err
}

// side is a goroutine that works for Run.
type side struct {
	work     func() error
	end      func() // tells that failed and panicked are set
	failed   error
	panicked any
}

func (s *side) run() {
	defer s.end()
	defer func() { s.panicked = recover() }() // re-raised on the caller's goroutine
	s.failed = s.work()
}

// loadAll reads what the rows of batches need and delivers them.
func (q *DocPipe[T]) loadAll() error {
	for batch := range q.batches {
		select {
		case <-q.stopped:
			return nil
		default:
		}
		if more, err := q.load(batch); err != nil || !more {
			return err
		}
	}
	return nil
}

// emitAll emits what the reader delivers and waits for the reader to end.
func (q *DocPipe[T]) emitAll() (more bool, err error) {
	done := false
	defer func() {
		if !done {
			close(q.stopped)
		}
		// The reader may be delivering another batch.
		for range q.out {
		}
	}()
	for part := range q.out {
		if more, err := q.emitRows(part); err != nil || !more {
			return false, err
		}
	}
	done = true
	return true, nil
}

func (q *DocPipe[T]) emitRows(part handed[T]) (more bool, err error) {
	for i := range part.rows {
		row := &part.rows[i]
		if more, err := q.Emit(row); err != nil || !more {
			return false, err
		}
		var none T
		*row = none // frees the body before the whole batch is emitted
	}
	if part.whole != nil {
		select {
		case q.free <- part.whole:
		default:
		}
	}
	return true, nil
}

// most returns the maximum number of rows of a batch.
func (q *DocPipe[T]) most() int {
	if !q.ahead {
		return pipeRowsHere
	}
	return share(pipeRows, pipeRowsHere)
}

// room returns memory for a batch of n rows.
func (q *DocPipe[T]) room(n int) []T {
	select {
	case used := <-q.free:
		if cap(used) >= n {
			return used[:0]
		}
	default:
	}
	return make([]T, 0, n)
}

// Push takes a copy of a row. more is false if no more rows are wanted.
func (q *DocPipe[T]) Push(row *T) (more bool, err error) {
	if q.Needs == nil {
		return q.Emit(row)
	}
	if q.batch == nil {
		q.whole = min(int(q.size.Load()), q.most())
		q.batch = q.room(q.whole)
	}
	if q.batch = append(q.batch, *row); len(q.batch) < q.whole {
		return true, nil
	}
	return q.flush()
}

// flush has what the rows of the batch need read, and the rows delivered.
func (q *DocPipe[T]) flush() (more bool, err error) {
	batch := q.batch
	q.batch = nil
	switch {
	case len(batch) == 0:
		return true, nil
	case q.batches == nil:
		return q.load(batch)
	}
	select {
	case q.batches <- batch:
		return true, nil
	case <-q.full:
		return false, nil
	}
}

// load reads what the rows of a batch need and delivers them.
func (q *DocPipe[T]) load(all []T) (more bool, err error) {
	q.held = 0
	rows, n, size, bytes := all, len(all), int(q.size.Load()), share(pipeBytes, pipeBytesLeast)
	for len(rows) > 0 {
		q.needs = q.needs[:0]
		for i := range rows {
			q.needs = append(q.needs, q.Needs(&rows[i]))
		}
		ready, err := q.S.load(q.needs, bytes, &q.scan)
		if err != nil {
			return false, err
		}
		for _, need := range q.needs[:ready] {
			q.held += need.Body.Held()
		}
		part := handed[T]{rows: rows[:ready]}
		if rows = rows[ready:]; len(rows) == 0 {
			part.whole = all
		}
		if more, err := q.handOn(part); err != nil || !more {
			return false, err
		}
	}
	if q.held > bytes {
		q.size.Store(int64(max(1, n*bytes/q.held)))
	} else {
		q.size.Store(int64(max(size, min(4*n, q.most(), n*bytes/max(1, q.held)))))
	}
	return true, nil
}

// handed is a batch of rows with what they need. If rows ends a batch, whole is the batch's memory, reused after the
// rows are emitted.
type handed[T any] struct{ rows, whole []T }

func (q *DocPipe[T]) handOn(part handed[T]) (more bool, err error) {
	if q.out == nil {
		return q.emitRows(part)
	}
	select {
	case q.out <- part:
		return true, nil
	case <-q.stopped:
		return false, nil
	}
}

// DocNeeds is what a row needs, and holds it after it has been read.
type DocNeeds struct {
	Key       []byte // key of the body's first chunk, if known
	Id        string
	Rev       db.Rev // may be zero if Key is known
	WantsBody bool
	WantsTree bool
	hasBody   bool // the body has been read, or is known not to be stored
	Found     bool
	Body      StoredBody
	Tree      *DocumentTree
}

// take stores a body that has been read.
func (n *DocNeeds) take(body StoredBody, found bool) {
	n.Body, n.Found, n.hasBody = body, found, true
}

// identify sets Rev by Key, if it is not known yet.
func (n *DocNeeds) identify(keys db.Space) error {
	if !n.Rev.IsZero() {
		return nil
	}
	r, _, err := db.TakeRev(n.Key[len(keys.Doc(nil, keyspace.Documents, n.Id)):])
	if err != nil {
		return db.Corrupt("key of a body", err)
	}
	n.Rev = r
	return nil
}

// load reads what rows need, for as many of the first rows as a number of bytes allows. It returns how many rows are
// ready, at least 1, or the error of the first row.
func (s *Stream) load(rows []*DocNeeds, room int, scan *BodyScan) (ready int, err error) {
	err = s.Try(func() error {
		err := s.loadBodies(rows, room, scan)
		for ready = 0; ready < len(rows) && (rows[ready].hasBody || !rows[ready].WantsBody); {
			ready++
		}
		if ready > 0 {
			ready, err = s.loadTrees(rows[:ready])
		}
		if ready > 0 {
			return nil // the next call gets the error again
		}
		return err
	})
	return ready, err
}

// loadBodies reads bodies: in ranges if they are close together, otherwise individually.
func (s *Stream) loadBodies(rows []*DocNeeds, room int, scan *BodyScan) error {
	var wanted []*DocNeeds
	for _, row := range rows {
		if row.WantsBody && !row.hasBody {
			wanted = append(wanted, row)
		}
	}
	if len(wanted) >= db.ScanFrom {
		used, err := scan.load(s, wanted, room)
		if err != nil && kv.Retryable(err) {
			return err
		} // an unreadable body fails in its own read, if it is wanted
		room -= used
		wanted = slices.DeleteFunc(wanted, func(n *DocNeeds) bool { return n.hasBody })
	}
	if room <= 0 && len(wanted) > 0 && wanted[0] == rows[0] {
		return s.loadSingles(wanted[:1])
	}
	for room > 0 && len(wanted) > 0 {
		n := min(len(wanted), scan.together())
		if err := s.loadSingles(wanted[:n]); err != nil {
			return err
		}
		held := 0
		for _, row := range wanted[:n] {
			held += row.Body.Held()
		}
		scan.took(n, held)
		wanted, room = wanted[n:], room-held
	}
	return nil
}

// loadSingles reads bodies individually. Over a network, all reads are started before it waits for the first one; in a
// local engine, two goroutines read.
func (s *Stream) loadSingles(rows []*DocNeeds) error {
	if s.Snap == nil || len(rows) < 2*db.ScanGap {
		return s.singles(rows)
	}
	half := len(rows) / 2
	var (
		wg     sync.WaitGroup
		second error
	)
	wg.Go(func() { second = s.singles(rows[half:]) })
	err := s.singles(rows[:half])
	wg.Wait()
	if err == nil {
		err = second
	}
	return err
}

func (s *Stream) singles(rows []*DocNeeds) error {
	reads := make([]BodyRead, len(rows))
	for i, row := range rows {
		if err := row.identify(s.Keys); err != nil {
			return err
		}
		reads[i] = ReadBody(s.R, s.Keys, row.Id, row.Rev)
		reads[i].Large = s.LargeReads()
	}
	for i, row := range rows {
		body, found, err := reads[i].Wait()
		if err != nil {
			return err
		}
		row.take(body, found)
	}
	return nil
}

// treesTogether is the number of documents whose branches are read at once.
const treesTogether = 32

// loadTrees reads the branches of rows. It returns how many of the first rows have theirs, and the error of the next
// row.
func (s *Stream) loadTrees(rows []*DocNeeds) (ready int, err error) {
	trees := make([]kv.RangeIterator, min(len(rows), treesTogether))
	for from := 0; from < len(rows); from += len(trees) {
		part := rows[from:min(from+len(trees), len(rows))]
		for i, row := range part {
			if row.WantsTree && row.Tree == nil {
				trees[i] = ReadTree(s.R, s.Keys, row.Id)
			}
		}
		for i, row := range part {
			if trees[i] == nil {
				continue
			}
			// After an error too, because every iterator has to be closed.
			tree, treeErr := WaitTree(trees[i], s.Keys, row.Id)
			if trees[i] = nil; treeErr != nil && err == nil {
				ready, err = from+i, treeErr
			}
			if treeErr == nil {
				row.Tree = &tree
			}
		}
		if err != nil {
			return ready, err
		}
	}
	return len(rows), nil
}

package rev

import (
	"slices"
	"sync"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/kv"
)

// Lists and feeds with documents read rows, then what each row needs: a body, branches. Both are done for many rows at
// a time, and beside the goroutine that has the rows: while it encodes and sends one batch, the next is read.

const (
	// pipeRows is how many rows are read together, at most, and pipeRowsFirst how many at first: the first row is
	// answered soon.
	pipeRows      = 256
	pipeRowsFirst = 8
	// pipeRowsHere is the most where rows are read and emitted by one goroutine: the oldest waits for the newest.
	pipeRowsHere = 32
	// pipeBytes is roughly what the bodies of one batch may hold. An answer that its client does not read holds two.
	pipeBytes = 96 << 10
	// PipeFew is up to how many rows no second goroutine is worth its start.
	PipeFew = 32
)

// DocPipe takes rows, reads what they need and emits them in order.
type DocPipe[T any] struct {
	S *Stream
	// Needs is what a row needs; nil where none needs anything.
	Needs func(row *T) *DocNeeds
	Emit  func(row *T) (more bool, err error)

	batch []T
	size  int // of the next batch
	held  int // bytes that the bodies of the last one held
	most  int // of size
	scan  BodyScan
	ahead []*DocNeeds

	// Where rows are read beside the goroutine that emits them:
	out     chan handed[T] // closed by the reader, at its end
	stopped chan struct{}  // closed by the emitter when it wants no more
	free    chan []T       // memory of rows that have been emitted; never closed
}

// Run calls produce, which pushes rows, and emits them; then those that are left. beside has produce, and so all use of
// the stream, run in a goroutine of its own. emit is called by the caller's goroutine in any case, and the other has
// ended when run returns. more is false where emit wanted no more.
func (q *DocPipe[T]) Run(beside bool, produce func() error) (more bool, err error) {
	q.batch, q.size, q.most = nil, pipeRowsFirst, pipeRowsHere
	q.free = make(chan []T, 2)
	if !beside || q.Needs == nil {
		if err = produce(); err != nil {
			return false, err
		}
		return q.flush()
	}
	q.most = pipeRows
	q.out, q.stopped = make(chan handed[T]), make(chan struct{})
	var (
		failed   error
		panicked any
	)
	go func() {
		defer close(q.out)
		defer func() { panicked = recover() }() // it belongs to the caller
		if failed = produce(); failed == nil {
			_, failed = q.flush()
		}
	}()
	more, err = q.emitAll()
	q.out = nil
	if panicked != nil {
		panic(panicked)
	}
	if err == nil && more {
		err = failed
	}
	return more && err == nil, err
}

// emitAll emits what the reader hands over, and waits for its end.
func (q *DocPipe[T]) emitAll() (more bool, err error) {
	done := false
	defer func() {
		if !done {
			close(q.stopped)
		}
		for range q.out { // the reader may be handing over one more
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
		*row = none // its body is not held until the whole batch is emitted
	}
	if part.whole != nil {
		select {
		case q.free <- part.whole:
		default:
		}
	}
	return true, nil
}

// room is memory for the next batch.
func (q *DocPipe[T]) room() []T {
	select {
	case used := <-q.free:
		if cap(used) >= q.size {
			return used[:0]
		}
	default:
	}
	return make([]T, 0, q.size)
}

// Push takes a copy of a row. more is false where no more are wanted.
func (q *DocPipe[T]) Push(row *T) (more bool, err error) {
	if q.Needs == nil {
		return q.Emit(row)
	}
	if q.batch == nil {
		q.batch = q.room()
	}
	if q.batch = append(q.batch, *row); len(q.batch) < q.size {
		return true, nil
	}
	return q.flush()
}

// flush reads what the rows that have come together need, and hands them on.
func (q *DocPipe[T]) flush() (more bool, err error) {
	rows := q.batch
	q.batch, q.held = nil, 0
	n := len(rows)
	all := rows
	for len(rows) > 0 {
		q.ahead = q.ahead[:0]
		for i := range rows {
			q.ahead = append(q.ahead, q.Needs(&rows[i]))
		}
		ready, err := q.S.load(q.ahead, &q.scan)
		if err != nil {
			return false, err
		}
		for _, need := range q.ahead[:ready] {
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
	switch {
	case n < q.size: // the last
	case q.held > pipeBytes:
		q.size = max(1, n*pipeBytes/q.held)
	default:
		q.size = min(4*q.size, q.most, max(1, n*pipeBytes/max(1, q.held)))
	}
	return true, nil
}

// handed are rows that have what they need; whole is the memory to be used again once these, the last in it, are
// emitted.
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

// DocNeeds is what a row needs besides itself, and that once it is read.
type DocNeeds struct {
	Key       []byte // of the first chunk of the body, where whoever has the row knows it already
	Id        string
	Rev       db.Rev
	WantsBody bool
	WantsTree bool
	hasBody   bool // it is read, or known not to be stored
	Found     bool
	Body      StoredBody
	Tree      *DocumentTree
}

// take makes a body that was read the row's.
func (n *DocNeeds) take(body StoredBody, found bool) {
	n.Body, n.Found, n.hasBody = body, found, true
}

// load reads what rows need, up to so many of the first of them that their bodies hold pipeBytes: ready is how many
// have all. It is at least 1. An error is that of the first.
func (s *Stream) load(rows []*DocNeeds, scan *BodyScan) (ready int, err error) {
	err = s.Try(func() error {
		err := s.loadBodies(rows, scan)
		for ready = 0; ready < len(rows) && (rows[ready].hasBody || !rows[ready].WantsBody); {
			ready++
		}
		if ready > 0 {
			ready, err = s.loadTrees(rows[:ready])
		}
		if ready > 0 {
			return nil // the next call meets the error again
		}
		return err
	})
	return ready, err
}

// loadBodies reads bodies: as ranges what lies close together, and the others one by one.
func (s *Stream) loadBodies(rows []*DocNeeds, scan *BodyScan) error {
	var wanted []*DocNeeds
	for _, row := range rows {
		if row.WantsBody && !row.hasBody {
			wanted = append(wanted, row)
		}
	}
	room := pipeBytes
	if len(wanted) >= db.ScanFrom {
		used, err := scan.load(s, wanted, room)
		if err != nil && kv.Retryable(err) {
			return err
		} // what cannot be read is told by the reads of the bodies that are wanted
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

// loadSingles reads bodies one by one: several at once, where the engine has to be asked over a network because their
// reads are issued before the first is waited for, and where it is this process's by two goroutines.
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

// treesTogether is of how many documents the branches are read at once.
const treesTogether = 32

// loadTrees reads the branches of rows. ready is how many of the first have theirs; the error is that of the next.
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
			tree, treeErr := WaitTree(trees[i], s.Keys, row.Id) // also after an error: every iterator has to be closed
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

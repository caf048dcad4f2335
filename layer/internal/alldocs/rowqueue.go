package alldocs

const (
	// BodyWindow is the capacity of an export's row queue.
	BodyWindow = 32
	// firstWindow is how many bodies are initially read ahead of the row that is yielded. Only the first chunk of each
	// is read ahead.
	firstWindow = 8
	// WindowBytes is the approximate size of the documents in a window of view rows (docWindow).
	WindowBytes = 256 << 10
)

// RowQueue delays rows by a window, so that the reads of several rows overlap. Emit must be set. With a Size of at most
// 1 it delays nothing.
type RowQueue[T any] struct {
	Size   int // maximum window
	Emit   func(*T) (more bool, err error)
	window int // current window

	rows    []T // a ring
	head, n int
}

// Push adds a row. If the window is full, it emits the oldest one.
func (q *RowQueue[T]) Push(row T) (more bool, err error) {
	if q.Size <= 1 {
		return q.Emit(&row)
	}
	if q.rows == nil {
		q.rows, q.window = make([]T, q.Size), min(firstWindow, q.Size)
	}
	for q.n >= q.window {
		if more, err := q.first(); err != nil || !more {
			return more, err
		}
	}
	q.rows[(q.head+q.n)%q.Size] = row
	q.n++
	return true, nil
}

// Drain emits the remaining rows.
func (q *RowQueue[T]) Drain() (more bool, err error) {
	for q.n > 0 {
		if more, err := q.first(); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// first emits the oldest row. If no more rows are wanted, it drops the others.
func (q *RowQueue[T]) first() (more bool, err error) {
	old := &q.rows[q.head]
	q.head, q.n = (q.head+1)%q.Size, q.n-1
	if more, err = q.Emit(old); err != nil || !more {
		q.rows, q.head, q.n = nil, 0, 0
		return more, err
	}
	var none T
	*old = none
	return true, nil
}

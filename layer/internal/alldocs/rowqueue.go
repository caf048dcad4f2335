package alldocs

const (
	// BodyWindow is how many rows a ring of an export has room for.
	BodyWindow = 32
	// firstWindow is how many bodies are read ahead of the row that is yielded. What is read ahead of each is its first
	// chunk.
	firstWindow = 8
	// WindowBytes is roughly what the documents of a window of rows of a view may hold (docWindow).
	WindowBytes = 256 << 10
)

// RowQueue delays rows by a window, so that the reads of many are under way together. The zero emit is not usable; a
// size of at most 1 delays nothing.
type RowQueue[T any] struct {
	Size   int // of the window, at most
	Emit   func(*T) (more bool, err error)
	window int // at present

	rows    []T // a ring
	head, n int
}

// Push adds a row, and emits the oldest where the window is full.
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

// Drain emits what is left.
func (q *RowQueue[T]) Drain() (more bool, err error) {
	for q.n > 0 {
		if more, err := q.first(); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// first emits the oldest row. Where nobody wants more, the others are dropped.
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

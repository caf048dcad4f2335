package layer

const (
	// bodyWindow is how many rows a ring of an export has room for.
	bodyWindow = 32
	// firstWindow is how many bodies are read ahead of the row that is yielded. What is read ahead of each is its first
	// chunk.
	firstWindow = 8
	// windowBytes is roughly what the documents of a window of rows of a view may hold (docWindow).
	windowBytes = 256 << 10
)

// rowQueue delays rows by a window, so that the reads of many are under way together. The zero emit is not usable; a size of at most 1 delays nothing.
type rowQueue[T any] struct {
	size   int // of the window, at most
	emit   func(*T) (more bool, err error)
	window int // at present

	rows    []T // a ring
	head, n int
}

// push adds a row, and emits the oldest where the window is full.
func (q *rowQueue[T]) push(row T) (more bool, err error) {
	if q.size <= 1 {
		return q.emit(&row)
	}
	if q.rows == nil {
		q.rows, q.window = make([]T, q.size), min(firstWindow, q.size)
	}
	for q.n >= q.window {
		if more, err := q.first(); err != nil || !more {
			return more, err
		}
	}
	q.rows[(q.head+q.n)%q.size] = row
	q.n++
	return true, nil
}

// drain emits what is left.
func (q *rowQueue[T]) drain() (more bool, err error) {
	for q.n > 0 {
		if more, err := q.first(); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// first emits the oldest row. Where nobody wants more, the others are dropped.
func (q *rowQueue[T]) first() (more bool, err error) {
	old := &q.rows[q.head]
	q.head, q.n = (q.head+1)%q.size, q.n-1
	if more, err = q.emit(old); err != nil || !more {
		q.rows, q.head, q.n = nil, 0, 0
		return more, err
	}
	var none T
	*old = none
	return true, nil
}

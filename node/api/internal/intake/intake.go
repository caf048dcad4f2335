package intake

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/divandb/divan/node/api/internal/fault"
)

// bodyCost is the memory for a body relative to its size: the body and copies of parts of it.
const bodyCost = 1.5

func costOf(size int64) int64 { return int64(bodyCost * float64(size)) }

// spillAfter is how long a body may take to arrive while others wait for its memory.
const spillAfter = 2 * time.Second

// intake reads a body into memory within the budget. A body that arrives slowly while others wait is moved to a file
// until it is complete.
type intake struct {
	b     *Body
	in    io.Reader
	limit int64 // on the body's size

	chunks [][]byte // all full except the last
	n      int64    // bytes in chunks
	end    bool
	file   *os.File // what has arrived so far, if the memory was given back; nil: it is in chunks
	fixed  bool     // no file can be created, so the body stays in memory
	began  time.Time
}

// Take reads in to its end. size is that of the body, or -1 if it is unknown. Beyond limit it returns the endpoint's
// tooLarge.
func (b *Body) Take(in io.Reader, size, limit int64) ([]byte, error) {
	t := intake{b: b, in: in, limit: limit, began: time.Now()}
	defer t.close()
	if size >= 0 {
		if err := b.Reserve(size); err != nil {
			return nil, err
		}
		if err := t.admit(size); err != nil {
			return nil, err
		}
		t.chunks = [][]byte{make([]byte, 0, size)}
		if err := t.fill(size); err != nil {
			return nil, err
		}
		if t.n < size && t.end {
			return nil, &fault.Unreadable{Err: io.ErrUnexpectedEOF}
		}
		return t.whole()
	}
	for i, upTo := range []int64{freeBody, SmallBody, limit + 1} {
		upTo = min(upTo, limit+1)
		if err := t.admit(upTo); err != nil {
			return nil, err
		}
		if err := t.fill(upTo); err != nil {
			return nil, err
		}
		if i == 0 {
			if err := t.measure(); err != nil {
				return nil, err
			}
		}
		if t.end {
			return t.whole()
		}
	}
	return nil, b.tooLarge
}

// measure makes a feed that keeps part of its body find out how large the body is, before the feed holds memory that
// others wait for.
func (t *intake) measure() error {
	switch {
	case !t.b.keeps.asks():
		return nil
	case t.end:
		return t.b.Reserve(t.n)
	}
	return t.spill(t.limit + 1)
}

// admit waits for the memory for a body of that size, after giving back what the request holds for a smaller one.
func (t *intake) admit(size int64) error {
	lane := &t.b.budget.large
	switch {
	case size <= freeBody:
		return nil
	case size <= SmallBody:
		lane = &t.b.budget.small
	}
	s, err := lane.take(t.b.ctx(), t.b.Client, costOf(size))
	if err != nil {
		return err
	}
	t.b.share.release()
	t.b.share = s
	t.began = time.Now()
	return nil
}

// chunkSize is how much of a body of unknown size is read into one piece of memory.
const chunkSize = 256 << 10

// fill reads until there are size bytes, or the end.
func (t *intake) fill(size int64) error {
	for t.n < size && !t.end {
		last := len(t.chunks) - 1
		if last < 0 || len(t.chunks[last]) == cap(t.chunks[last]) {
			t.chunks = append(t.chunks, make([]byte, 0, min(chunkSize, max(freeBody, t.n))))
			last++
		}
		c := t.chunks[last]
		free := c[len(c):min(int64(cap(c)), int64(len(c))+size-t.n)]
		n, err := t.in.Read(free)
		t.chunks[last] = c[:len(c)+n]
		t.n += int64(n)
		switch {
		case err == io.EOF: //nolint:errorlint // as io.Reader documents
			t.end = true
		case err != nil:
			return err
		case !t.fixed && time.Since(t.began) > spillAfter && t.b.share.pressed():
			if err := t.spill(size); err != nil {
				return err
			}
		}
	}
	return nil
}

// spill moves what has arrived to a file, reads the rest into the file without holding memory that others wait for, and
// returns when the body is complete. If no file can be created, the request keeps its memory and continues. If the disk
// fills up later, the client is told to retry.
func (t *intake) spill(size int64) (err error) {
	if t.file, err = os.CreateTemp(t.b.budget.limits.Spool, "body-*"); err != nil {
		t.fixed = true
		t.b.budget.log.Debug("a slow body stays in memory", "error", err)
		return nil
	}
	if err := os.Remove(t.file.Name()); err != nil { // the file disappears with the process, however that ends
		return err
	}
	to := spool{t.file}
	for _, c := range t.chunks {
		if _, err := to.Write(c); err != nil {
			return err
		}
	}
	t.chunks = nil
	t.b.share.release()
	n, err := io.Copy(to, io.LimitReader(t.in, size-t.n))
	if err != nil {
		return err
	}
	if t.n += n; t.n < size {
		t.end = true
	}
	if t.n > t.limit {
		return t.b.tooLarge
	}
	if err := t.b.Reserve(t.n); err != nil {
		return err
	}
	share, err := t.b.budget.large.take(t.b.ctx(), t.b.Client, costOf(t.n))
	if err != nil {
		return err
	}
	t.b.share = share
	return nil
}

// spool is a file for a body. A write error is treated like a lack of memory for the body.
type spool struct{ file *os.File }

func (s spool) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if err != nil {
		return n, ErrBusy
	}
	return n, nil
}

// whole returns the body in one piece.
func (t *intake) whole() ([]byte, error) {
	if t.n > t.limit {
		return nil, t.b.tooLarge
	}
	if t.n > freeBody {
		t.b.share.shrink(costOf(t.n))
	}
	switch {
	case t.file != nil:
		text := make([]byte, t.n)
		_, err := t.file.ReadAt(text, 0)
		return text, err
	case len(t.chunks) == 1:
		return t.chunks[0], nil
	}
	text := make([]byte, 0, t.n)
	for i, c := range t.chunks {
		text = append(text, c...)
		t.chunks[i] = nil
	}
	return text, nil
}

func (t *intake) close() {
	if t.file != nil {
		_ = t.file.Close() // it is already unlinked
	}
}

// uploadCost is the maximum memory of an upload, including the transaction that stores it.
const uploadCost = 3 << 19

// Uploads waits for the memory of uploads of size bytes, one after the other; -1 if the size is unknown.
func (b *Body) Uploads(size int64) error {
	if size >= 0 && size <= freeBody || b.share.holds() {
		return nil
	}
	s, err := b.budget.uploads.take(b.ctx(), b.Client, uploadCost)
	if err == nil {
		b.share = s
	}
	return err
}

// GiveBack gives back the memory of the body, which is no longer used.
func (b *Body) GiveBack() { b.share.release() }

// Parts waits for the memory of what a body is going to be parsed into. It is for lists of any length, not for the
// members of a document. A request that asks for more than the maximum gets an error.
func (b *Body) Parts(n int64) error {
	if n <= freeBody {
		return nil
	}
	lane := &b.budget.parts
	if n > lane.most {
		return fault.TooMany
	}
	take := lane.take
	if len(b.parsed) > 0 { // a request that holds some must not wait for more
		take = func(_ context.Context, client string, n int64) (*share, error) { return lane.try(client, n) }
	}
	s, err := take(b.ctx(), b.Client, n)
	if err != nil {
		return err
	}
	b.parsed = append(b.parsed, s)
	return nil
}

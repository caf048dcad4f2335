package alldocs

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// A scan for SQL wants of each document its id and its body, and nothing that AllDocs adds to them. Here both are read
// in batches that go from the store to the statement as a whole, because at some hundred nanoseconds for a document
// every call, channel and copy between them counts.

const (
	// bodiesFirst and bodiesMost are the numbers of rows of the first batch and of later ones.
	bodiesFirst = 16
	bodiesMost  = 512
	// bodiesBytes is the approximate size of the bodies of a batch.
	bodiesBytes = 128 << 10
	// bodiesHere is the number of rows after which batches are read ahead on another goroutine.
	bodiesHere = 1024
)

// BodiesOptions are the options of Bodies.
type BodiesOptions struct {
	// Start <= id < End; nil for no bound.
	Start, End *string
	Limit      int // no limit if Limit < 0
	// WithoutDesigns excludes design documents, NoBodies leaves the bodies out.
	WithoutDesigns, NoBodies bool
}

// BodyRow is a document. Its ID and Body may be kept.
type BodyRow struct {
	ID   string
	Body []byte // as Document.Body; nil if it is not stored
}

// Bodies is a read in progress. It is not safe for concurrent use.
type Bodies struct {
	s      *rev.Stream
	o      BodiesOptions
	cancel context.CancelFunc
	prefix []byte // of the list
	docs   []byte // of the bodies

	list  kv.RangeIterator // nil if it has to be opened
	rest  kv.KeyRange      // what the next list reads
	limit int              // rows that this one may still return; 0 for no limit
	last  []byte           // its last key, with a limit
	left  int              // rows to return; no limit if negative

	// The rows of the list whose bodies are being read: ids and, with bodies, the ranges of their first chunks.
	ids    []string
	text   []byte // of all ids, and where each ends in it
	ends   []int
	ranges []kv.KeyRange
	keys   []byte // memory of ranges
	at     int    // the first one whose body has not been read
	size   int    // the number of the next ones

	rows   [3][]BodyRow // memory of batches, in turns
	turn   int
	failed error // follows the ids
	passed int   // rows returned before ahead is used

	ahead chan bodyBatch // closed by the goroutine that reads ahead, which is not started for few rows
	ended error          // what that goroutine has returned
}

type bodyBatch struct {
	rows     []BodyRow
	err      error
	panicked any
}

// Bodies begins to read documents in the order of their ids. ok is false if the store holds no snapshots or cannot read
// many ranges at once: then AllDocs is the way. The snapshot is held until Close, or until ctx ends.
func (d Database) Bodies(ctx context.Context, o BodiesOptions) (b *Bodies, ok bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := rev.OpenStream(ctx, d.Database)
	if err != nil {
		cancel()
		return nil, true, err
	}
	if _, picks := s.R.(kv.RangesReader); !picks || s.Snap == nil {
		s.Close()
		cancel()
		return nil, false, nil
	}
	b = &Bodies{s: s, o: o, cancel: cancel, left: o.Limit, size: bodiesFirst}
	if o.Limit > bodiesFirst {
		b.size = min(o.Limit, bodiesMost) // so many will be wanted
	}
	b.prefix, b.docs = s.Keys.Sub(nil, keyspace.AllDocs), s.Keys.Sub(nil, keyspace.Documents)
	b.rest = db.IdRange(b.prefix, db.IdBounds{Start: o.Start, End: o.End, ExcludeEnd: true})
	return b, true, nil
}

// Close ends the read.
func (b *Bodies) Close() {
	b.cancel()
	if b.ahead != nil {
		for range b.ahead { // until the goroutine has ended
		}
	}
	if b.list != nil {
		b.list.Close()
	}
	b.s.Close()
}

// Next returns the next rows, at least one, or io.EOF. The slice is valid until the next call.
func (b *Bodies) Next() ([]BodyRow, error) {
	if b.ahead == nil && b.passed < bodiesHere {
		rows, err := b.read()
		b.passed += len(rows)
		return rows, err
	}
	if b.ahead == nil {
		// There are three batches then, as many as there is memory for: one is used, one is ready, one is being read.
		b.ahead = make(chan bodyBatch, 1)
		go b.readAhead()
	}
	batch, more := <-b.ahead
	switch {
	case batch.panicked != nil:
		panic(batch.panicked)
	case !more && b.ended == nil:
		return nil, context.Cause(b.s.Ctx)
	case batch.err != nil:
		b.ended = batch.err
	}
	return batch.rows, b.ended
}

// readAhead reads batches until the end or an error.
func (b *Bodies) readAhead() {
	defer close(b.ahead)
	var batch bodyBatch
	for batch.err == nil && batch.panicked == nil {
		func() {
			defer func() { batch.panicked = recover() }() // re-raised on the caller's goroutine
			batch.rows, batch.err = b.read()
		}()
		select {
		case b.ahead <- batch:
		case <-b.s.Ctx.Done():
			return
		}
	}
}

// read reads a batch.
func (b *Bodies) read() ([]BodyRow, error) {
	if b.at == len(b.ids) {
		if b.failed != nil {
			return nil, b.failed
		}
		if b.failed = b.fill(); len(b.ids) == 0 {
			return nil, b.failed
		}
	}
	b.turn = (b.turn + 1) % len(b.rows)
	rows, held, err := slices.Grow(b.rows[b.turn][:0], len(b.ids)-b.at), 0, error(nil)
	if b.o.NoBodies {
		for _, id := range b.ids {
			rows = append(rows, BodyRow{ID: id})
		}
	} else {
		rows, held, err = b.load(rows)
	}
	b.rows[b.turn] = rows
	n := len(rows)
	b.at += n
	b.size = max(1, min(4*b.size, bodiesMost, n*bodiesBytes/max(1, held)))
	if err != nil {
		b.ids, b.at, b.failed = nil, 0, err
	}
	if n == 0 {
		return nil, b.failed
	}
	return rows, nil
}

// fill reads the next rows of the list. It returns the error, or io.EOF, that follows them.
func (b *Bodies) fill() error {
	want := b.size
	if b.left >= 0 {
		want = min(want, b.left)
	}
	b.ids, b.ends, b.ranges, b.keys, b.at = b.ids[:0], b.ends[:0], b.ranges[:0], b.keys[:0], 0
	b.text = b.text[:0]
	b.ids, b.ends = slices.Grow(b.ids, want), slices.Grow(b.ends, want)
	if !b.o.NoBodies {
		b.ranges = slices.Grow(b.ranges, want)
	}
	defer b.share()
	for len(b.ids) < want {
		row, err := b.listed()
		if err != nil {
			return err
		}
		id, _, err := tuple.TakeStringBytes(row.Key[len(b.prefix):])
		if err != nil {
			return db.Corrupt("list of documents", err)
		}
		if b.o.WithoutDesigns && bytes.HasPrefix(id, []byte("_design/")) {
			continue
		}
		b.text = append(b.text, id...)
		b.ids = append(b.ids, "") // set by share
		b.ends = append(b.ends, len(b.text))
		if !b.o.NoBodies {
			b.want(row.Key[len(b.prefix):], row.Value)
		}
	}
	if b.left >= 0 {
		if b.left -= len(b.ids); b.left == 0 {
			return io.EOF
		}
	}
	return nil
}

// share gives the ids that have been read one text in common, which is allocated once.
func (b *Bodies) share() {
	text, from := string(b.text), 0
	for i, end := range b.ends {
		b.ids[i], from = text[from:end], end
	}
}

// listed returns the next row of the list, or io.EOF.
func (b *Bodies) listed() (kv.KeyValue, error) {
	for {
		if b.list == nil {
			b.limit = max(b.left, 0)
			b.list = b.s.R.GetRange(b.rest, kv.RangeOptions{Limit: b.limit})
		}
		if b.list.Next() {
			row := b.list.KeyValue()
			if b.limit > 0 {
				b.limit--
				if b.last = append(b.last[:0], row.Key...); b.limit == 0 {
					b.limit = -1
				}
			}
			return row, nil
		}
		if err := b.list.Err(); err != nil || b.limit >= 0 {
			if err == nil {
				err = io.EOF
			}
			return kv.KeyValue{}, db.Explain(err)
		}
		// Design documents were among as many rows as are wanted.
		b.list.Close()
		b.list, b.rest.Begin = nil, append(bytes.Clone(b.last), 0)
	}
}

// want adds the range that has only the first chunk of the body of an encoded id and revision.
func (b *Bodies) want(id, rev []byte) {
	from := len(b.keys)
	b.keys = append(append(append(b.keys, b.docs...), id...), rev...)
	b.keys = append(tuple.AppendInt(b.keys, 0), 0)
	to := len(b.keys)
	b.ranges = append(b.ranges, kv.KeyRange{Begin: b.keys[from : to-1 : to-1], End: b.keys[from:to:to]})
}

// load reads bodies until a batch has enough, and appends their rows. It also returns their size. An error follows the
// rows.
func (b *Bodies) load(rows []BodyRow) (_ []BodyRow, held int, err error) {
	ids, ranges := b.ids[b.at:], b.ranges[b.at:]
	it, ok := kv.GetRanges(b.s.R, ranges)
	if !ok {
		return b.singly(rows, 0)
	}
	defer it.Close()
	for held < bodiesBytes && it.Next() {
		row := it.KeyValue()
		for !bytes.Equal(row.Key, ranges[len(rows)].Begin) {
			rows = append(rows, BodyRow{ID: ids[len(rows)]}) // its body is not stored
		}
		n := len(rows)
		var body []byte
		if len(row.Value) >= keyspace.BodyChunk {
			body, err = b.single(n)
		} else {
			body, err = rev.BodyText(row.Value)
		}
		if err != nil {
			return rows, held, err
		}
		rows = append(rows, BodyRow{ID: ids[n], Body: body})
		held += len(body)
	}
	if it.Err() != nil {
		return b.singly(rows, held)
	}
	if held < bodiesBytes {
		for _, id := range ids[len(rows):] {
			rows = append(rows, BodyRow{ID: id})
		}
	}
	return rows, held, nil
}

// singly is load after the ranges of all bodies could not be read: it reads one after the other, so that those before
// an unreadable one are returned.
func (b *Bodies) singly(rows []BodyRow, held int) (_ []BodyRow, _ int, err error) {
	for n := len(rows); b.at+n < len(b.ids) && held < bodiesBytes; n++ {
		body, err := b.single(n)
		if err != nil {
			return rows, held, err
		}
		rows = append(rows, BodyRow{ID: b.ids[b.at+n], Body: body})
		held += len(body)
	}
	return rows, held, nil
}

// single reads one body: the nth of those that have not been read.
func (b *Bodies) single(n int) ([]byte, error) {
	id, key := b.ids[b.at+n], b.ranges[b.at+n].Begin
	r, _, err := db.TakeRev(key[len(b.s.Keys.Doc(nil, keyspace.Documents, id)):])
	if err != nil {
		return nil, db.Corrupt("key of a body", err)
	}
	read := rev.ReadBody(b.s.R, b.s.Keys, id, r)
	stored, _, err := read.Wait()
	return stored.Body, db.Explain(err)
}

package layer

import (
	"context"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// LargeBody is the body of a document that does not fit into one chunk. It stays in the store until somebody copies it
// out. While the iterator that it came from runs, it is read as of the same version; afterwards it is there until it is
// compacted away. The body of a revision never changes, so it can be read in several transactions.
type LargeBody struct {
	from   largeReads
	id     string
	rev    Rev
	header int // bytes before the text
	Size   int // of the text, with its braces
}

// largePart is how many chunks are held at once.
const largePart = 4

// Copy calls fn with the text, one piece after the other. A piece is valid until fn returns. NotFound where the
// revision has been removed meanwhile.
func (b *LargeBody) Copy(ctx context.Context, fn func([]byte) error) error {
	skip, left := b.header, b.Size
	for chunk := 0; left > 0; chunk += largePart {
		part, err := b.part(ctx, chunk)
		if err != nil {
			return err
		}
		if len(part) <= skip || len(part)-skip > left {
			return errMissing()
		}
		part, skip = part[skip:], 0
		if err := fn(part); err != nil {
			return err
		}
		left -= len(part)
	}
	return nil
}

func (b *LargeBody) part(ctx context.Context, chunk int) ([]byte, error) {
	if b.from.snap != nil {
		if part, err := b.read(b.from.snap, chunk); err == nil {
			return part, nil
		} // the iterator has ended: see whether the body is still there
	}
	return read(ctx, b.from.d, func(t *txn) ([]byte, error) {
		if t.core != b.from.core { // another database has taken the name
			return nil, errMissing()
		}
		return b.read(t.Snapshot(), chunk)
	})
}

func (b *LargeBody) read(reader kv.Reader, chunk int) ([]byte, error) {
	keys := b.from.core.keys
	r := prefixRange(appendRev(keys.doc(nil, keyspace.Documents, b.id), b.rev))
	r.Begin = keys.body(nil, b.id, b.rev, chunk)
	rows := reader.GetRange(r, kv.RangeOptions{Limit: largePart, Mode: kv.ModeExact})
	defer rows.Close()
	part := make([]byte, 0, largePart*keyspace.BodyChunk)
	for rows.Next() {
		part = append(part, rows.KeyValue().Value...)
	}
	return part, rows.Err()
}

// largeReads has a bodyRead leave large bodies in the store. The zero value does not.
type largeReads struct {
	d    *Database
	core *core
	snap kv.Snapshot // nil: in transactions of its own
}

// leave makes a LargeBody of a body whose first chunk is full. It returns nil if the body has to be read: where the
// first chunk does not have the whole first member, nobody can tell yet whether the object has members.
func (l largeReads) leave(b *bodyRead, first []byte) (storedBody, *LargeBody) {
	if l.d == nil {
		return storedBody{}, nil
	}
	s, length, err := parseHeader(first)
	if err != nil || len(bodyMembers(append(s.body[:len(s.body):len(s.body)], '}'))) == 0 {
		return storedBody{}, nil
	}
	large := &LargeBody{from: l, id: b.id, rev: b.rev, header: len(first) - len(s.body), Size: length}
	s.body = nil
	return s, large
}

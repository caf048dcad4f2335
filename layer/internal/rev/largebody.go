package rev

import (
	"context"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// LargeBody is a document body of several chunks that stays in the store until it is copied. While the iterator that
// returned it is running, it is read at the iterator's version. Afterwards it can be read until compaction removes it.
// Since a revision's body never changes, it can be read in several transactions.
type LargeBody struct {
	from   LargeReads
	id     string
	rev    db.Rev
	header int // size of the header before the text
	Size   int // size of the text, including the braces
}

// largePart is how many chunks are in memory at once.
const largePart = 4

// Copy calls fn with one piece of the text after another. A piece is valid until fn returns. Copy returns NotFound if
// the revision has been removed in the meantime.
func (b *LargeBody) Copy(ctx context.Context, fn func([]byte) error) error {
	skip, left := b.header, b.Size
	for chunk := 0; left > 0; chunk += largePart {
		part, err := b.part(ctx, chunk)
		if err != nil {
			return err
		}
		if len(part) <= skip || len(part)-skip > left {
			return ErrMissing()
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
		} // the iterator has ended; the body may still exist
	}
	return db.Read(ctx, b.from.d, func(t *db.Txn) ([]byte, error) {
		if t.Core != b.from.core { // another database has taken the name
			return nil, ErrMissing()
		}
		return b.read(t.Snapshot(), chunk)
	})
}

func (b *LargeBody) read(reader kv.Reader, chunk int) ([]byte, error) {
	keys := b.from.core.Keys
	r := db.PrefixRange(db.AppendRev(keys.Doc(nil, keyspace.Documents, b.id), b.rev))
	r.Begin = keys.Body(nil, b.id, b.rev, chunk)
	rows := reader.GetRange(r, kv.RangeOptions{Limit: largePart, Mode: kv.ModeExact})
	defer rows.Close()
	part := make([]byte, 0, largePart*keyspace.BodyChunk)
	for rows.Next() {
		part = append(part, rows.KeyValue().Value...)
	}
	return part, rows.Err()
}

// LargeReads makes a BodyRead leave large bodies in the store. The zero value does not.
type LargeReads struct {
	d    *db.Database
	core *db.Core
	snap kv.Snapshot // if nil, the body is read in separate transactions
}

// leave returns a LargeBody for a body whose first chunk is full. It returns nil if the body has to be read, also if
// the first chunk does not contain the whole first member, so that it is not known whether the object has members.
func (l LargeReads) leave(b *BodyRead, first []byte) (StoredBody, *LargeBody) {
	if l.d == nil {
		return StoredBody{}, nil
	}
	s, length, err := ParseHeader(first)
	if err != nil || len(bodyMembers(append(s.Body[:len(s.Body):len(s.Body)], '}'))) == 0 {
		return StoredBody{}, nil
	}
	large := &LargeBody{from: l, id: b.Id, rev: b.Rev, header: len(first) - len(s.Body), Size: length}
	s.Body = nil
	return s, large
}

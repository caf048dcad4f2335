package attach

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// An upload has an entry in the store until a document uses it, so that uploads of dead nodes can be found:
//
//	(Uploads, hour, DocID, AttachmentID) = life, renewed
//
// hour is when the upload began, by the store's clock; life identifies the Store that began it. While the request is
// running, that Store regularly sets renewed to the current hour, so that an upload may take any time. Any node removes
// an entry that has not been renewed for an hour.

const (
	// uploadHours is how many full hours an entry is kept without renewal.
	uploadHours = 1
	// RenewEvery is how often a Store checks whether a new hour has begun.
	RenewEvery = time.Minute
)

// uploadEntry returns the value of an entry that this Store renews in the given hour.
func (a *State) uploadEntry(renewed int64) []byte {
	return tuple.AppendInt(append([]byte(nil), a.Life[:]...), renewed)
}

// ParseUpload decodes the key of an entry, without the prefix of its subspace.
func ParseUpload(key []byte) (*rev.Upload, error) {
	u := &rev.Upload{}
	var err error
	if u.Hour, key, err = tuple.TakeInt(key); err == nil {
		if u.DocID, key, err = tuple.TakeString(key); err == nil {
			var id tuple.UUID
			id, _, err = tuple.TakeUUID(key)
			u.ID = id
		}
	}
	if err != nil {
		return nil, db.Corrupt("upload entry", err)
	}
	return u, nil
}

// renewedAt returns the hour in which an upload's entry was set. Entries of older releases contain none: they were set
// when the upload began.
func renewedAt(u *rev.Upload, value []byte) (int64, error) {
	if len(value) <= len(u.ID) {
		return u.Hour, nil
	}
	hour, _, err := tuple.TakeInt(value[len(u.ID):])
	if err != nil {
		return 0, db.Corrupt("upload entry", err)
	}
	return hour, nil
}

// State is what package attach keeps with a Store.
type State struct {
	Max     int64    // maximum size of an attachment in bytes
	Life    [16]byte // identifies this Store in the entries of its uploads
	uploads liveUploads
	Log     *slog.Logger
}

var Slot = db.NewSlot[State]()

// StateOf returns the package's state in a Store.
func StateOf(s *db.Store) *State { return Slot.Of(s) }

// liveUploads are the uploads of this Store's running requests. Safe for concurrent use.
type liveUploads struct {
	mu sync.Mutex
	of map[*rev.Upload]*liveUpload
}

type liveUpload struct {
	db      *db.Database
	renewed int64 // a lower bound for the hour in its entry
}

// begin adds an upload until ctx is done.
func (l *liveUploads) begin(ctx context.Context, d *db.Database, u *rev.Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[*rev.Upload]*liveUpload{}
	}
	l.of[u] = &liveUpload{d, u.Hour}
	context.AfterFunc(ctx, func() { l.end(u) })
}

// end removes an upload. It may be called more than once.
func (l *liveUploads) end(u *rev.Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, u)
}

// due returns the uploads that were last renewed before the given hour.
func (l *liveUploads) due(hour int64) map[*rev.Upload]*db.Database {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[*rev.Upload]*db.Database{}
	for u, live := range l.of {
		if live.renewed < hour {
			due[u] = live.db
		}
	}
	return due
}

func (l *liveUploads) renewed(u *rev.Upload, hour int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if live := l.of[u]; live != nil {
		live.renewed = hour
	}
}

// RenewUploads renews the entries of this Store's uploads that are due in the given hour.
func (a *State) RenewUploads(ctx context.Context, hour int64) error {
	var failed error
	for u, d := range a.uploads.due(hour) {
		there, err := renewUpload(ctx, d, u, hour)
		switch {
		case err != nil && fault.KindOf(err) != fault.NotFound:
			failed = err // the next one may be in a database that can be written
		case there:
			a.uploads.renewed(u, hour)
		default: // used or removed
			a.uploads.end(u)
		}
	}
	return failed
}

func renewUpload(ctx context.Context, d *db.Database, u *rev.Upload, hour int64) (there bool, err error) {
	return db.Read(ctx, d, func(t *db.Txn) (bool, error) {
		key := t.Close(Upload(t.Keys, t.Open(), u))
		value, err := t.Get(key).Wait()
		if err != nil || value == nil {
			return false, err
		}
		t.Set(key, StateOf(d.Store).uploadEntry(hour))
		return true, nil
	})
}

// SweepUploads removes uploads that have not been renewed.
func SweepUploads(ctx context.Context, d *db.Database, now db.Hours) error {
	return removeUploads(ctx, d, func(u *rev.Upload, value []byte) (bool, error) {
		renewed, err := renewedAt(u, value)
		return now.Before(renewed, uploadHours), err
	})
}

// RemoveLeftUploads removes the uploads that another Store has begun.
func (a *State) RemoveLeftUploads(ctx context.Context, d *db.Database) error {
	return removeUploads(ctx, d, func(_ *rev.Upload, value []byte) (bool, error) {
		return !bytes.HasPrefix(value, a.Life[:]), nil
	})
}

// removeUploads removes the uploads with dead entries, and their data.
func removeUploads(ctx context.Context, d *db.Database, dead func(u *rev.Upload, value []byte) (bool, error)) error {
	p := db.NewPortions(100)
	// Entries without the prefix: the last one done, and the last one in the current attempt.
	var after, last []byte
	for more := true; more; after = last {
		_, err := db.ReadPart(ctx, d, p, 0, func(t *db.Txn, most int) (n int, err error) {
			prefix := t.Keys.Sub(nil, keyspace.Uploads)
			r := db.PrefixRange(prefix)
			if after != nil {
				r.Begin = append(append(bytes.Clone(prefix), after...), 0)
			}
			rows := t.Snapshot().GetRange(r, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
			defer rows.Close()
			for ; rows.Next(); n++ {
				row := rows.KeyValue()
				last = append(last[:0:0], row.Key[len(prefix):]...)
				if err := removeUpload(t, last, row, dead); err != nil {
					return n, err
				}
			}
			more = n == most
			return n, rows.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeUpload removes an upload if its entry is dead and has not changed since it was read from a snapshot. Only in
// that case it conflicts with transactions that use or renew the upload.
func removeUpload(t *db.Txn, entry []byte, row kv.KeyValue,
	dead func(u *rev.Upload, value []byte) (bool, error)) error {
	u, err := ParseUpload(entry)
	if err != nil {
		return err
	}
	if is, err := dead(u, row.Value); err != nil || !is {
		return err
	}
	now, err := t.Get(t.Close(Upload(t.Keys, t.Open(), u))).Wait()
	if err == nil && bytes.Equal(now, row.Value) && now != nil {
		dropUpload(t, u)
	}
	return err
}

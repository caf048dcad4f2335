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

// An upload has an entry in the store until a document has taken it up, so that what a dead node left behind is found:
//
//	(Uploads, hour, DocID, AttachmentID) = life, renewed
//
// hour is when it began, by the store's clock; life is the Store that began it. As long as its request lives, that
// Store sets renewed to the present hour again and again, so an upload may take any time. An entry that was not renewed
// for an hour belongs to nobody, and any node removes it.

const (
	// uploadHours is how many full hours an entry stays that is not renewed.
	uploadHours = 1
	// RenewEvery is how often a Store looks whether another hour has come.
	RenewEvery = time.Minute
)

// uploadEntry is the value of an entry that this Store renewed in an hour.
func (a *State) uploadEntry(renewed int64) []byte {
	return tuple.AppendInt(append([]byte(nil), a.Life[:]...), renewed)
}

// ParseUpload reads the key of an entry behind the prefix of its subspace.
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

// renewedAt is the hour in which the entry of an upload was set. Entries of older releases have none: they are as old
// as the upload.
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

// State is what this part remembers of a Store.
type State struct {
	Max     int64    // bytes of an attachment
	Life    [16]byte // of this Store, in the entries of its uploads
	uploads liveUploads
	Log     *slog.Logger
}

var Slot = db.NewSlot[State]()

func StateOf(s *db.Store) *State { return Slot.Of(s) }

// liveUploads are the uploads of this Store whose requests live. Safe for concurrent use.
type liveUploads struct {
	mu sync.Mutex
	of map[*rev.Upload]*liveUpload
}

type liveUpload struct {
	db      *db.Database
	renewed int64 // the hour in its entry, at least
}

// begin adds an upload, until ctx ends.
func (l *liveUploads) begin(ctx context.Context, d *db.Database, u *rev.Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[*rev.Upload]*liveUpload{}
	}
	l.of[u] = &liveUpload{d, u.Hour}
	context.AfterFunc(ctx, func() { l.end(u) })
}

// end removes an upload. It may be called again.
func (l *liveUploads) end(u *rev.Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, u)
}

// due are the uploads that were renewed in no hour as late as this one.
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

// RenewUploads renews the entries of this Store's uploads that are due in an hour.
func (a *State) RenewUploads(ctx context.Context, hour int64) error {
	var failed error
	for u, d := range a.uploads.due(hour) {
		there, err := renewUpload(ctx, d, u, hour)
		switch {
		case err != nil && fault.KindOf(err) != fault.NotFound:
			failed = err // the next may be in a database that can be written
		case there:
			a.uploads.renewed(u, hour)
		default: // taken up or removed
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

// SweepUploads removes the uploads that nobody has renewed.
func SweepUploads(ctx context.Context, d *db.Database, now db.Hours) error {
	return removeUploads(ctx, d, func(u *rev.Upload, value []byte) (bool, error) {
		renewed, err := renewedAt(u, value)
		return now.Before(renewed, uploadHours), err
	})
}

// RemoveLeftUploads removes the uploads that this Store has not begun.
func (a *State) RemoveLeftUploads(ctx context.Context, d *db.Database) error {
	return removeUploads(ctx, d, func(_ *rev.Upload, value []byte) (bool, error) {
		return !bytes.HasPrefix(value, a.Life[:]), nil
	})
}

// removeUploads removes those uploads, with their data, whose entries are dead.
func removeUploads(ctx context.Context, d *db.Database, dead func(u *rev.Upload, value []byte) (bool, error)) error {
	p := db.NewPortions(100)
	var after, last []byte // entries behind the prefix: the last that was done, and that of the present attempt
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

// removeUpload removes an upload if its entry is dead, and is still what was read in a snapshot: only then does it
// conflict with others, who may take it up or renew it.
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

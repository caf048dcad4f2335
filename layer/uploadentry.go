package layer

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"time"

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
	// renewEvery is how often a Store looks whether another hour has come.
	renewEvery = time.Minute
)

// uploadEntry is the value of an entry that this Store renewed in an hour.
func (a *attachState) uploadEntry(renewed int64) []byte {
	return tuple.AppendInt(append([]byte(nil), a.life[:]...), renewed)
}

// parseUpload reads the key of an entry behind the prefix of its subspace.
func parseUpload(key []byte) (*Upload, error) {
	u := &Upload{}
	var err error
	if u.hour, key, err = tuple.TakeInt(key); err == nil {
		if u.DocID, key, err = tuple.TakeString(key); err == nil {
			var id tuple.UUID
			id, _, err = tuple.TakeUUID(key)
			u.ID = id
		}
	}
	if err != nil {
		return nil, corrupt("upload entry", err)
	}
	return u, nil
}

// renewedAt is the hour in which the entry of an upload was set. Entries of older releases have none: they are as old
// as the upload.
func (u *Upload) renewedAt(value []byte) (int64, error) {
	if len(value) <= len(u.ID) {
		return u.hour, nil
	}
	hour, _, err := tuple.TakeInt(value[len(u.ID):])
	if err != nil {
		return 0, corrupt("upload entry", err)
	}
	return hour, nil
}

// attachState is what this part remembers of a Store.
type attachState struct {
	max     int64    // bytes of an attachment
	life    [16]byte // of this Store, in the entries of its uploads
	uploads liveUploads
	log     *slog.Logger
}

var attachSlot = newSlot[attachState]()

func attachOf(s *dbStore) *attachState { return attachSlot.of(s) }

// liveUploads are the uploads of this Store whose requests live. Safe for concurrent use.
type liveUploads struct {
	mu sync.Mutex
	of map[*Upload]*liveUpload
}

type liveUpload struct {
	db      *Database
	renewed int64 // the hour in its entry, at least
}

// begin adds an upload, until ctx ends.
func (l *liveUploads) begin(ctx context.Context, d *Database, u *Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[*Upload]*liveUpload{}
	}
	l.of[u] = &liveUpload{d, u.hour}
	context.AfterFunc(ctx, func() { l.end(u) })
}

// end removes an upload. It may be called again.
func (l *liveUploads) end(u *Upload) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, u)
}

// due are the uploads that were renewed in no hour as late as this one.
func (l *liveUploads) due(hour int64) map[*Upload]*Database {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[*Upload]*Database{}
	for u, live := range l.of {
		if live.renewed < hour {
			due[u] = live.db
		}
	}
	return due
}

func (l *liveUploads) renewed(u *Upload, hour int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if live := l.of[u]; live != nil {
		live.renewed = hour
	}
}

// keepUploads renews the entries of a Store's uploads until ctx ends.
func keepUploads(ctx context.Context, s *dbStore) {
	a := attachOf(s)
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := a.renewUploads(ctx, s.clock.hour()); err != nil && ctx.Err() == nil {
			a.log.Warn("uploads not renewed", "error", err)
		}
	}
}

// renewUploads renews the entries of this Store's uploads that are due in an hour.
func (a *attachState) renewUploads(ctx context.Context, hour int64) error {
	var failed error
	for u, d := range a.uploads.due(hour) {
		there, err := d.renewUpload(ctx, u, hour)
		switch {
		case err != nil && KindOf(err) != NotFound:
			failed = err // the next may be in a database that can be written
		case there:
			a.uploads.renewed(u, hour)
		default: // taken up or removed
			a.uploads.end(u)
		}
	}
	return failed
}

func (d *Database) renewUpload(ctx context.Context, u *Upload, hour int64) (there bool, err error) {
	return read(ctx, d, func(t *txn) (bool, error) {
		key := t.close(t.keys.upload(t.open(), u))
		value, err := t.Get(key).Wait()
		if err != nil || value == nil {
			return false, err
		}
		t.Set(key, attachOf(d.store).uploadEntry(hour))
		return true, nil
	})
}

// sweepUploads removes the uploads that nobody has renewed.
func (d *Database) sweepUploads(ctx context.Context, now hours) error {
	return d.removeUploads(ctx, func(u *Upload, value []byte) (bool, error) {
		renewed, err := u.renewedAt(value)
		return now.before(renewed, uploadHours), err
	})
}

// removeLeftUploads removes the uploads that this Store has not begun.
func (a *attachState) removeLeftUploads(ctx context.Context, d *Database) error {
	return d.removeUploads(ctx, func(_ *Upload, value []byte) (bool, error) {
		return !bytes.HasPrefix(value, a.life[:]), nil
	})
}

// removeUploads removes those uploads, with their data, whose entries are dead.
func (d *Database) removeUploads(ctx context.Context, dead func(u *Upload, value []byte) (bool, error)) error {
	p := newPortions(100)
	var after, last []byte // entries behind the prefix: the last that was done, and that of the present attempt
	for more := true; more; after = last {
		_, err := readPart(ctx, d, p, 0, func(t *txn, most int) (n int, err error) {
			prefix := t.keys.sub(nil, keyspace.Uploads)
			r := prefixRange(prefix)
			if after != nil {
				r.Begin = append(append(bytes.Clone(prefix), after...), 0)
			}
			rows := t.Snapshot().GetRange(r, kv.RangeOptions{Limit: most, Mode: kv.ModeExact})
			defer rows.Close()
			for ; rows.Next(); n++ {
				row := rows.KeyValue()
				last = append(last[:0:0], row.Key[len(prefix):]...)
				if err := t.removeUpload(last, row, dead); err != nil {
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
func (t *txn) removeUpload(entry []byte, row kv.KeyValue, dead func(u *Upload, value []byte) (bool, error)) error {
	u, err := parseUpload(entry)
	if err != nil {
		return err
	}
	if is, err := dead(u, row.Value); err != nil || !is {
		return err
	}
	now, err := t.Get(t.close(t.keys.upload(t.open(), u))).Wait()
	if err == nil && bytes.Equal(now, row.Value) && now != nil {
		t.dropUpload(u)
	}
	return err
}

package check

import (
	"crypto/md5"
	"encoding/base64"
	"hash"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// attachmentCheck checks the data of attachments.
type attachmentCheck struct{ *checker }

// attachments checks that the data of attachments has no gaps and is referred to.
func (x attachmentCheck) attachments() error {
	prefix := x.keys.Sub(nil, keyspace.Attachments)
	var next int64
	var short, gap bool
	var sum hash.Hash
	var looks []attachmentLook
	return x.walk(walk{
		in: db.PrefixRange(prefix),
		of: func(key []byte) (string, []byte, error) {
			rest, err := tuple.Skip(key[len(prefix):])
			if err == nil {
				rest, err = tuple.Skip(rest)
			}
			return string(key[len(prefix) : len(key)-len(rest)]), rest, err
		},
		row: func(of string, rest []byte, row kv.KeyValue) error {
			n, _, err := tuple.TakeInt(rest)
			if err != nil {
				return db.Corrupt("key of an attachment", err)
			}
			if next == 0 && sum == nil && x.v.o.Digests {
				sum = md5.New()
			}
			gap = gap || n != next || short
			next, short = n+1, len(row.Value) < keyspace.BodyChunk
			if sum != nil {
				sum.Write(row.Value)
			}
			return nil
		},
		end: func(of string) error {
			id, rest, err := tuple.TakeString([]byte(of))
			if err != nil {
				return db.Corrupt("key of an attachment", err)
			}
			u, _, err := tuple.TakeUUID(rest)
			if err != nil {
				return db.Corrupt("key of an attachment", err)
			}
			if gap {
				x.fault(keyspace.Attachments, id, "the data of an attachment has gaps")
			}
			digest := ""
			if sum != nil {
				digest = "md5-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
			}
			next, short, gap, sum = 0, false, false, nil
			looks = append(looks, attachmentLook{id: id, attachment: u, digest: digest,
				counter: x.r.Get(rev.Refs(x.keys, nil, id, u))})
			return nil
		},
		flush: func() error {
			for rest := looks; len(rest) > 0; {
				n := 1
				for n < len(rest) && rest[n].id == rest[0].id {
					n++
				}
				if err := x.attachmentsOf(rest[0].id, rest[:n]); err != nil {
					return err
				}
				rest = rest[n:]
			}
			looks = looks[:0]
			return nil
		},
		reset: func() error {
			looks = looks[:0]
			next, short, gap, sum = 0, false, false, nil
			return nil
		},
	})
}

// attachmentLook is attachment data whose references are to be checked.
type attachmentLook struct {
	id         string
	attachment [16]byte
	digest     string // of the data, if digests are compared
	counter    kv.Future[[]byte]
	counted    int64
}

// attachmentsOf looks for bodies of a document that refer to the attachments, and otherwise for unfinished uploads.
// If a counter says that there are such bodies, bodyCheck and orphanCheck have checked the counter.
func (x attachmentCheck) attachmentsOf(id string, looks []attachmentLook) error {
	sought := map[[16]byte]*attachmentLook{}
	for i := range looks {
		l := &looks[i]
		value, err := l.counter.Wait()
		if err != nil {
			return err
		}
		if l.counted, _, _ = attach.TakeRefs(db.CounterValue(value)); l.counted <= 0 || l.digest != "" {
			sought[l.attachment] = l
		}
	}
	t := &db.Txn{Keys: x.keys, Cfg: x.cfg}
	var after []byte
	var err error
	for done := false; !done && len(sought) > 0; {
		after, done, err = attach.EachHeader(t, id, after, checkRows, checkBytes, x.r,
			func(_ db.Rev, b *rev.StoredBody) {
				for i := range b.Attachments {
					a := &b.Attachments[i]
					l := sought[a.ID]
					if l == nil {
						continue
					}
					delete(sought, a.ID)
					if l.digest != "" && a.Digest != l.digest {
						x.fault(keyspace.Attachments, id, "the data of attachment %q does not have its digest", a.Name)
					}
				}
			})
		if err != nil {
			return err
		}
	}
	for _, l := range sought {
		if l.counted > 0 {
			continue
		}
		awaited, err := x.awaited(id, l.attachment)
		if err != nil {
			return err
		}
		if !awaited {
			x.fault(keyspace.Attachments, id, "there is data of an attachment that no revision refers to")
		}
	}
	return nil
}

// awaited reports whether an attachment belongs to an unfinished upload, or will be checked by compaction.
func (x attachmentCheck) awaited(id string, attachment [16]byte) (bool, error) {
	check, err := x.r.Get(attach.AttachmentCheck(x.keys, nil, id, attachment)).Wait()
	if check != nil || err != nil {
		return err == nil, err
	}
	prefix := x.keys.Sub(nil, keyspace.Uploads)
	rows := db.GetRange(x.r, prefix, kv.RangeOptions{})
	defer rows.Close()
	for rows.Next() {
		u, err := attach.ParseUpload(rows.KeyValue().Key[len(prefix):])
		if err != nil {
			return false, err
		}
		if u.DocID == id && u.ID == attachment {
			return true, nil
		}
	}
	return false, rows.Err()
}

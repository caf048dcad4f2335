package layer

import (
	"crypto/md5"
	"encoding/base64"
	"hash"
	"slices"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// feeds goes through the entries of all shards that there were: each is its document's only one.
func (x *checker) feeds() error {
	shards := map[ShardID]bool{}
	for _, m := range x.cfg.maps {
		for _, id := range m.subspaces() {
			shards[id] = true
		}
	}
	for id := range shards {
		if err := x.feed(id); err != nil {
			return err
		}
	}
	return nil
}

func (x *checker) feed(shard ShardID) error {
	prefix := x.keys.feed(nil, shard)
	type read struct {
		e      entry
		winner winnerRead
	}
	var entries []read
	return x.walk(walk{
		in: prefixRange(prefix), of: single(prefix),
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			e := entry{shard: shard}
			if err := parseEntry(&e, rest, row.Value); err != nil {
				x.fault(keyspace.Changes, "", "an entry of shard %q cannot be read: %v", shard, err)
				return nil
			}
			entries = append(entries, read{e, x.readWinner(e.id)})
			return nil
		},
		flush: func() error {
			for i := range entries {
				e := &entries[i].e
				w, err := entries[i].winner.wait(len(x.keys.doc(nil, keyspace.Revisions, e.id)))
				switch {
				case err != nil:
					return err
				case w == nil:
					x.fault(keyspace.Changes, e.id, "there is an entry at %s, and no such document", e.seq)
				case w.winner && w.seq != e.seq:
					x.fault(keyspace.Changes, e.id, "there is an entry at %s beside that at %s", e.seq, w.seq)
				case w.winner && x.cfg.shardAt(e.id, e.seq) != shard:
					x.fault(keyspace.Changes, e.id, "the entry at %s is in shard %q, and not in %q", e.seq, shard,
						x.cfg.shardAt(e.id, e.seq))
				}
			}
			entries = entries[:0]
			return nil
		},
		reset: func() error {
			entries = nil
			return nil
		},
	})
}

// lists goes through the lists of documents: each of these is there. That all are listed documents looks at.
func (x *checker) lists() error {
	for _, sub := range []keyspace.Subspace{keyspace.AllDocs, keyspace.Designs} {
		prefix := x.keys.sub(nil, sub)
		type read struct {
			id     string
			winner winnerRead
		}
		var ids []read
		err := x.walk(walk{
			in: prefixRange(prefix), of: behind(prefix),
			row: func(id string, _ []byte, _ kv.KeyValue) error {
				ids = append(ids, read{id, x.readWinner(id)})
				return nil
			},
			flush: func() error {
				for _, r := range ids {
					w, err := r.winner.wait(len(x.keys.doc(nil, keyspace.Revisions, r.id)))
					if err != nil {
						return err
					}
					if w == nil {
						x.fault(sub, r.id, "it is listed, and there is no such document")
					}
				}
				ids = ids[:0]
				return nil
			},
			reset: func() error {
				ids = nil
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bodies goes through all stored bodies: they can be read, their documents are there, and the counters of attachments
// are what they refer to.
func (x *checker) bodies() error {
	prefix := x.keys.sub(nil, keyspace.Documents)
	refs, taken := map[[16]byte]int64{}, map[[16]byte]Attachment{}
	uncounted := map[[16]byte]bool{}
	clearAll := func() error {
		clear(refs)
		clear(taken)
		clear(uncounted)
		return nil
	}
	var body []byte // of which the list of attachments goes on
	note := func(id string, b *storedBody) {
		for _, a := range b.attachments {
			taken[a.ID] = a
			if b.counted {
				refs[a.ID]++
			} else {
				uncounted[a.ID] = true
			}
		}
	}
	return x.walk(walk{
		in: prefixRange(prefix), of: behind(prefix),
		row: func(id string, rest []byte, row kv.KeyValue) error {
			x.count(counterBodies, int64(len(row.Value)))
			_, chunk, err := takeRev(rest)
			if err != nil {
				return corrupt("body key", err)
			}
			n, _, err := tuple.TakeInt(chunk)
			if err != nil {
				return corrupt("body key", err)
			}
			switch {
			case n == 0:
				body = nil
			case body == nil:
				return nil
			}
			whole := append(body, row.Value...)
			body = nil
			b, _, err := parseHeader(whole)
			if err != nil && len(row.Value) >= keyspace.BodyChunk && len(whole) < x.v.s.o.MaxDocument*2 {
				body = whole
				return nil
			}
			if err != nil {
				x.fault(keyspace.Documents, id, "a body cannot be read: %v", err)
				return nil
			}
			note(id, &b)
			return nil
		},
		end: func(id string) error {
			defer clearAll() //nolint:errcheck // it has none
			return x.bodiesOf(id, refs, taken, uncounted)
		},
		reset: clearAll,
	})
}

func (x *checker) bodiesOf(id string, refs map[[16]byte]int64, taken map[[16]byte]Attachment,
	uncounted map[[16]byte]bool) error {
	w, err := x.winner(id)
	if err != nil {
		return err
	}
	if w == nil {
		x.fault(keyspace.Documents, id, "there are bodies, and no such document")
	}
	for a, at := range taken {
		x.count(counterStored, at.EncodedLength)
		x.count(counterContent, at.Length)
		value, err := x.r.Get(x.keys.refs(nil, id, a)).Wait()
		if err != nil {
			return err
		}
		n, all := takeRefs(counterValue(value))
		switch {
		case n != refs[a]:
			x.fault(keyspace.AttachmentRefs, id, "attachment %q is counted %d times, and in %d bodies", at.Name, n,
				refs[a])
		case all && uncounted[a]:
			x.fault(keyspace.AttachmentRefs, id, "attachment %q is said to be counted in all bodies, and is not",
				at.Name)
		}
	}
	return nil
}

// attachments goes through the data of attachments: it has no gaps, and something refers to it.
func (x *checker) attachments() error {
	prefix := x.keys.sub(nil, keyspace.Attachments)
	var next int64
	var short, gap bool
	var sum hash.Hash
	return x.walk(walk{
		in: prefixRange(prefix),
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
				return corrupt("key of an attachment", err)
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
				return corrupt("key of an attachment", err)
			}
			u, _, err := tuple.TakeUUID(rest)
			if err != nil {
				return corrupt("key of an attachment", err)
			}
			if gap {
				x.fault(keyspace.Attachments, id, "the data of an attachment has gaps")
			}
			digest := ""
			if sum != nil {
				digest = "md5-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
			}
			next, short, gap, sum = 0, false, false, nil
			return x.attachmentOf(id, u, digest)
		},
		reset: func() error {
			next, short, gap, sum = 0, false, false, nil
			return nil
		},
	})
}

// attachmentOf looks for a body that refers to an attachment, or an upload that is not done.
func (x *checker) attachmentOf(id string, attachment [16]byte, digest string) error {
	value, err := x.r.Get(x.keys.refs(nil, id, attachment)).Wait()
	if err != nil {
		return err
	}
	if n, _ := takeRefs(counterValue(value)); n > 0 && digest == "" {
		return nil // that the counter is right bodies looks at
	}
	t := &txn{keys: x.keys, cfg: x.cfg}
	found, wrong := false, ""
	var after []byte
	for done := false; !done && !found; {
		after, done, err = t.eachHeader(id, after, checkRows, checkBytes, x.r, func(r Rev, b *storedBody) {
			i := slices.IndexFunc(b.attachments, func(a Attachment) bool { return a.ID == attachment })
			if i < 0 || found {
				return
			}
			found = true
			if digest != "" && b.attachments[i].Digest != digest {
				wrong = b.attachments[i].Name
			}
		})
		if err != nil {
			return err
		}
	}
	if wrong != "" {
		x.fault(keyspace.Attachments, id, "the data of attachment %q does not have its digest", wrong)
	}
	if found {
		return nil
	}
	uploading := false
	prefix := x.keys.sub(nil, keyspace.Uploads)
	rows := getRange(x.r, prefix, kv.RangeOptions{})
	defer rows.Close()
	for rows.Next() && !uploading {
		u, err := parseUpload(rows.KeyValue().Key[len(prefix):])
		if err != nil {
			return err
		}
		uploading = u.DocID == id && u.ID == attachment
	}
	if err := rows.Err(); err != nil {
		return err
	}
	check, err := x.r.Get(x.keys.attachmentCheck(nil, id, attachment)).Wait()
	if err != nil {
		return err
	}
	if !uploading && check == nil {
		x.fault(keyspace.Attachments, id, "there is data of an attachment that no revision has")
	}
	return nil
}

package layer

import (
	"bytes"
	"context"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/compact"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// ForgetRefs makes the bodies of a database look like those of a store of format 3, whose attachments are not counted.
func ForgetRefs(ctx context.Context, d *Database) error {
	_, err := db.Read(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		refs := db.GetRange(t, t.Keys.Sub(nil, keyspace.AttachmentRefs), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer refs.Close()
		var old [][]byte // that no leaf refers to, which is counted in stores of every format
		for refs.Next() {
			row := refs.KeyValue()
			if _, _, o := attach.TakeRefs(db.CounterValue(row.Value)); o {
				old = append(old, bytes.Clone(row.Key))
			}
		}
		if err := refs.Err(); err != nil {
			return struct{}{}, err
		}
		t.ClearRange(db.PrefixRange(t.Keys.Sub(nil, keyspace.AttachmentRefs)))
		for _, key := range old {
			t.Set(key, db.LittleEndian(rev.CountsOld))
		}
		rows := db.GetRange(t, t.Keys.Sub(nil, keyspace.Documents), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			row := rows.KeyValue()
			if b := bytes.Clone(row.Value); bytes.HasSuffix(row.Key, []byte{0x14}) && b[1]&rev.FlagCounted != 0 {
				b[1] &^= rev.FlagCounted
				t.Set(bytes.Clone(row.Key), b)
			}
		}
		return struct{}{}, rows.Err()
	})
	return err
}

// LookRows sets how many bodies of a document are checked at once, until the returned function is called.
func LookRows(n int) (restore func()) {
	old := attach.LookRows
	attach.LookRows = n
	return func() { attach.LookRows = old }
}

// StoredAttachments returns the attachments that have data in the store.
func StoredAttachments(ctx context.Context, d *Database) (map[[16]byte]bool, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (map[[16]byte]bool, error) {
		ids := map[[16]byte]bool{}
		rows := db.GetRange(t, t.Keys.Sub(nil, keyspace.Attachments), kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			key, err := tuple.Unpack(rows.KeyValue().Key)
			if err != nil {
				return nil, err
			}
			ids[key[4].(tuple.UUID)] = true
		}
		return ids, rows.Err()
	})
}

// LookNoted checks the databases that have been written, as a store does every few seconds. LookAll checks all of them.
func LookNoted(ctx context.Context, s *Store) error { return compact.LookNoted(ctx, s.Store) }

func LookAll(ctx context.Context, s *Store) error {
	return s.EachDatabase(ctx, func(ctx context.Context, d *db.Database) error {
		return compact.LookCompactable(ctx, s.Store, d)
	})
}

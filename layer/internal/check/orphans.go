package check

import (
	"bytes"

	"github.com/divandb/divan/layer/internal/attach"
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/design"
	"github.com/divandb/divan/layer/internal/index"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// orphanCheck looks for references to data, and for rows of indexes, that belong to nothing.
type orphanCheck struct{ *checker }

// references checks that attachments with a counter other than zero are referred to by a body. bodyCheck checks that
// the counters are correct.
func (x orphanCheck) references() error {
	prefix := x.keys.Sub(nil, keyspace.AttachmentRefs)
	counted := map[[16]byte]int64{}
	return x.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			if len(rest) == 0 {
				return nil // marks that all bodies of the document are counted
			}
			a, _, err := tuple.TakeUUID(rest)
			if err != nil {
				return db.Corrupt("counter of an attachment", err)
			}
			if n, _, _ := attach.TakeRefs(db.CounterValue(row.Value)); n != 0 {
				counted[a] = n
			}
			return nil
		},
		end: func(id string) error {
			err := x.referred(id, counted)
			for _, n := range counted {
				if err == nil {
					x.faultWith(keyspace.AttachmentRefs, id, helpLeft,
						"an attachment is counted %d times, but no revision refers to it", n)
				}
			}
			clear(counted)
			return err
		},
		reset: func() error {
			clear(counted)
			return nil
		},
	})
}

// referred removes from attachments those that bodies of the document refer to.
func (x orphanCheck) referred(id string, attachments map[[16]byte]int64) (err error) {
	t := &db.Txn{Keys: x.keys, Cfg: x.cfg}
	var after []byte
	for done := false; !done && len(attachments) > 0; {
		after, done, err = attach.EachHeader(t, id, after, checkRows, checkBytes, x.r,
			func(_ db.Rev, b *rev.StoredBody) {
				for i := range b.Attachments {
					delete(attachments, b.Attachments[i].ID)
				}
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexRows looks for rows of indexes that do not exist. They would never be removed.
func (x orphanCheck) indexRows() error {
	err := x.at(func() error {
		k := index.NewKeys(x.keys.Sub(nil, keyspace.Views), &design.Design{})
		known, err := x.knownIndexes(&k)
		if err != nil {
			return err
		}
		all := db.PrefixRange(k.All)
		for {
			row, err := db.FirstRow(x.r, all, false)
			if err != nil || row == nil {
				return err
			}
			rest, err := tuple.Skip(row.Key[len(k.All):])
			if err != nil {
				return db.Corrupt("key of an index", err)
			}
			data := row.Key[:len(row.Key)-len(rest)]
			if of := data[len(k.All):]; !known[string(of)] {
				x.faultWith(keyspace.Views, "", helpLeft, "there are rows of an index that does not exist, %x", of)
			}
			if all.Begin, err = tuple.Strinc(data); err != nil {
				return err
			}
			if bytes.Compare(all.Begin, all.End) >= 0 {
				return nil
			}
		}
	})
	if err != nil {
		return err
	}
	return x.settle()
}

// knownIndexes returns the encoded numbers and signatures of all indexes.
func (x orphanCheck) knownIndexes(k *index.Keys) (map[string]bool, error) {
	known := map[string]bool{}
	each := func(what keyspace.ViewInfoKey, f func(signature string, value []byte) error) error {
		prefix := tuple.AppendInt(k.Info[:len(k.Info):len(k.Info)], int64(what))
		rows := db.GetRange(x.r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			row := rows.KeyValue()
			signature, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return db.Corrupt("index information", err)
			}
			if err := f(signature, row.Value); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	for _, what := range index.IndexSigns {
		if err := each(what, func(signature string, _ []byte) error {
			known[string(tuple.AppendString(nil, signature))] = true
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return known, each(keyspace.ViewNumber, func(_ string, value []byte) error {
		_, rest, err := tuple.TakeInt(value)
		if err != nil {
			return db.Corrupt("number of an index", err)
		}
		n, _, err := tuple.TakeInt(rest)
		if err != nil {
			return db.Corrupt("number of an index", err)
		}
		known[string(tuple.AppendInt(nil, n))] = true
		return nil
	})
}

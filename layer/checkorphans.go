package layer

import (
	"bytes"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// references goes through the counters of attachments: of each that is not zero some body refers to the attachment.
// That such a counter is right bodies looks at.
func (x *checker) references() error {
	prefix := x.keys.sub(nil, keyspace.AttachmentRefs)
	counted := map[[16]byte]int64{}
	return x.walk(walk{
		in: prefixRange(prefix), of: behind(prefix),
		row: func(_ string, rest []byte, row kv.KeyValue) error {
			if len(rest) == 0 {
				return nil // all bodies of the document are counted
			}
			a, _, err := tuple.TakeUUID(rest)
			if err != nil {
				return corrupt("counter of an attachment", err)
			}
			if n, _ := takeRefs(counterValue(row.Value)); n != 0 {
				counted[a] = n
			}
			return nil
		},
		end: func(id string) error {
			err := x.referred(id, counted)
			for _, n := range counted {
				if err == nil {
					x.faultWith(keyspace.AttachmentRefs, id, helpLeft,
						"an attachment is counted %d times, and no revision has it", n)
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

// referred takes from the attachments of a document those that its bodies refer to.
func (x *checker) referred(id string, attachments map[[16]byte]int64) (err error) {
	t := &txn{keys: x.keys, cfg: x.cfg}
	var after []byte
	for done := false; !done && len(attachments) > 0; {
		after, done, err = t.eachHeader(id, after, checkRows, checkBytes, x.r, func(_ Rev, b *storedBody) {
			for i := range b.attachments {
				delete(attachments, b.attachments[i].ID)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// indexRows looks for rows of indexes that there are not: nobody would remove them.
func (x *checker) indexRows() error {
	err := x.at(func() error {
		k := newIndexKeys(x.keys.sub(nil, keyspace.Views), &Design{})
		known, err := x.knownIndexes(&k)
		if err != nil {
			return err
		}
		all := prefixRange(k.all)
		for {
			row, err := firstRow(x.r, all, false)
			if err != nil || row == nil {
				return err
			}
			rest, err := tuple.Skip(row.Key[len(k.all):])
			if err != nil {
				return corrupt("key of an index", err)
			}
			data := row.Key[:len(row.Key)-len(rest)]
			if of := data[len(k.all):]; !known[string(of)] {
				x.faultWith(keyspace.Views, "", helpLeft, "there are rows of an index that there is not, %x", of)
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

// knownIndexes are the numbers, and the signatures of those that have none, as they are in keys.
func (x *checker) knownIndexes(k *indexKeys) (map[string]bool, error) {
	known := map[string]bool{}
	each := func(what keyspace.ViewInfoKey, f func(signature string, value []byte) error) error {
		prefix := tuple.AppendInt(k.info[:len(k.info):len(k.info)], int64(what))
		rows := getRange(x.r, prefix, kv.RangeOptions{Mode: kv.ModeWantAll})
		defer rows.Close()
		for rows.Next() {
			row := rows.KeyValue()
			signature, _, err := tuple.TakeString(row.Key[len(prefix):])
			if err != nil {
				return corrupt("index information", err)
			}
			if err := f(signature, row.Value); err != nil {
				return err
			}
		}
		return rows.Err()
	}
	for _, what := range indexSigns {
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
			return corrupt("number of an index", err)
		}
		n, _, err := tuple.TakeInt(rest)
		if err != nil {
			return corrupt("number of an index", err)
		}
		known[string(tuple.AppendInt(nil, n))] = true
		return nil
	})
}

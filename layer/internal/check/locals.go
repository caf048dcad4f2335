package check

import (
	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/write"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
)

// locals checks that the _local documents can be read and are JSON.
func (x *checker) locals() error {
	var whole []byte
	prefix := x.keys.Sub(nil, keyspace.Local)
	return x.walk(walk{
		in: db.PrefixRange(prefix), of: behind(prefix),
		row: func(_ string, _ []byte, row kv.KeyValue) error {
			whole = append(whole, row.Value...)
			return nil
		},
		end: func(id string) error {
			_, body, err := write.ParseLocal(whole)
			if err == nil {
				_, err = jsontext.ScanMembers(body, func(jsontext.Member) {})
			}
			if err != nil {
				x.fault(keyspace.Local, id, "%v", err)
			}
			whole = whole[:0]
			return nil
		},
		reset: func() error {
			whole = whole[:0]
			return nil
		},
	})
}

package layer

import (
	"context"
	"errors"
	"strconv"

	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// LocalDocument reads a _local document: its revision is "0-N". NotFound.
func (d *Database) LocalDocument(ctx context.Context, id string) (*Document, error) {
	return read(ctx, d, func(t *txn) (*Document, error) {
		n, body, err := t.readLocal(id)
		if err != nil {
			return nil, err
		}
		if body == nil {
			return nil, errf(NotFound, "", "missing")
		}
		return &Document{ID: id, Rev: localRev(n), Body: body}, nil
	})
}

func localRev(n int64) Rev { return Rev{Pos: 0, ID: strconv.FormatInt(n, 10)} }

// readLocal reads a _local document's revision number and body; nil if there is none.
func (t *txn) readLocal(id string) (n int64, body []byte, err error) {
	rows := getRange(t, t.keys.doc(nil, keyspace.Local, id), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var whole []byte
	for rows.Next() {
		whole = append(whole, rows.KeyValue().Value...)
	}
	if err := rows.Err(); err != nil || whole == nil {
		return 0, nil, err
	}
	return parseLocal(whole)
}

// parseLocal reads (LocalFormat, revision number) and the JSON text after it.
func parseLocal(whole []byte) (n int64, body []byte, err error) {
	format, rest, err := tuple.TakeInt(whole)
	if err != nil {
		return 0, nil, corrupt("_local document", err)
	}
	if format != keyspace.LocalFormat {
		return 0, nil, unknownFormat("a _local document", format, keyspace.LocalFormat)
	}
	n, body, err = tuple.TakeInt(rest)
	if err != nil {
		return 0, nil, corrupt("_local document", err)
	}
	return n, body, nil
}

// PutLocal writes or deletes (Deleted) a _local document. As CouchDB since 2.0 it does not refuse an older revision: the new one is the given one
// plus one. The revision of a deletion is "0-0"; NotFound for the deletion of what is not there.
func (d *Database) PutLocal(ctx context.Context, e Edit) (Rev, error) {
	if !isLocal(e.ID) {
		return Rev{}, errf(Invalid, "illegal_docid", "the id of a _local document begins with _local/")
	}
	if err := ValidateID(e.ID); err != nil {
		return Rev{}, err
	}
	if len(e.Body) > writeOf(d.store).maxDocument {
		return Rev{}, errf(TooLarge, "document_too_large", "%s", e.ID)
	}
	if len(e.Attachments) > 0 {
		return Rev{}, errf(Invalid, "bad_request", "_local documents have no attachments")
	}
	n, err := nextLocal(&e)
	if err != nil {
		return Rev{}, err
	}
	_, _, err = transact(ctx, d, func(t *txn) (struct{}, error) {
		if e.Deleted {
			t.MakesRoom()
		}
		return struct{}{}, t.putLocal(&e, n)
	})
	return localRev(n), err
}

var errLocalRev = errors.New("Invalid rev format") //nolint:staticcheck // CouchDB's words

func nextLocal(e *Edit) (int64, error) {
	switch {
	case e.Deleted:
		return 0, nil
	case e.Rev.IsZero():
		return 1, nil
	}
	n, err := strconv.ParseInt(e.Rev.ID, 10, 64)
	if err != nil || e.Rev.Pos != 0 || n < 0 || n+1 < 0 {
		return 0, errf(Invalid, "bad_request", "%s", errLocalRev)
	}
	return n + 1, nil
}

func (t *txn) putLocal(e *Edit, n int64) error {
	prefix := t.keys.doc(nil, keyspace.Local, e.ID)
	if e.Deleted {
		rows := getRange(t, prefix, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer rows.Close()
		there := rows.Next()
		if err := rows.Err(); err != nil {
			return err
		}
		if !there {
			return errf(NotFound, "", "missing")
		}
	}
	t.ClearRange(prefixRange(prefix))
	if !e.Deleted {
		t.writeLocal(e.ID, n, e.Body)
	}
	return nil
}

// writeLocal stores a _local document where there is none.
func (t *txn) writeLocal(id string, n int64, body []byte) {
	if body == nil {
		body = []byte("{}")
	}
	prefix := t.keys.doc(nil, keyspace.Local, id)
	whole := append(tuple.AppendInt(tuple.AppendInt(nil, keyspace.LocalFormat), n), body...)
	for chunk := int64(0); len(whole) > 0; chunk++ {
		size := min(len(whole), keyspace.BodyChunk)
		t.Set(t.close(tuple.AppendInt(append(t.open(), prefix...), chunk)), whole[:size])
		whole = whole[size:]
	}
}

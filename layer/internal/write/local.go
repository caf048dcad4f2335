package write

import (
	"context"
	"errors"
	"strconv"

	"github.com/divandb/divan/layer/internal/db"
	"github.com/divandb/divan/layer/internal/fault"
	"github.com/divandb/divan/layer/internal/rev"
	"github.com/divandb/divan/layer/keyspace"
	"github.com/divandb/divan/layer/kv"
	"github.com/divandb/divan/layer/tuple"
)

// LocalDocument reads a _local document, whose revision is "0-N". It returns NotFound if there is none.
func (d Database) LocalDocument(ctx context.Context, id string) (*rev.Document, error) {
	return db.Read(ctx, d.Database, func(t *db.Txn) (*rev.Document, error) {
		n, body, err := readLocal(t, id)
		if err != nil {
			return nil, err
		}
		if body == nil {
			return nil, fault.Errf(fault.NotFound, "", "missing")
		}
		return &rev.Document{ID: id, Rev: LocalRev(n), Body: body}, nil
	})
}

// LocalRev returns the revision "0-N" of a _local document.
func LocalRev(n int64) db.Rev { return db.Rev{Pos: 0, ID: strconv.FormatInt(n, 10)} }

// readLocal returns the revision number and body of a _local document. The body is nil if there is none.
func readLocal(t *db.Txn, id string) (n int64, body []byte, err error) {
	rows := db.GetRange(t, t.Keys.Doc(nil, keyspace.Local, id), kv.RangeOptions{Mode: kv.ModeWantAll})
	defer rows.Close()
	var whole []byte
	for rows.Next() {
		whole = append(whole, rows.KeyValue().Value...)
	}
	if err := rows.Err(); err != nil || whole == nil {
		return 0, nil, err
	}
	return ParseLocal(whole)
}

// ParseLocal decodes (LocalFormat, revision number) followed by the JSON text.
func ParseLocal(whole []byte) (n int64, body []byte, err error) {
	format, rest, err := tuple.TakeInt(whole)
	if err != nil {
		return 0, nil, db.Corrupt("_local document", err)
	}
	if format != keyspace.LocalFormat {
		return 0, nil, db.UnknownFormat("a _local document", format, keyspace.LocalFormat)
	}
	n, body, err = tuple.TakeInt(rest)
	if err != nil {
		return 0, nil, db.Corrupt("_local document", err)
	}
	return n, body, nil
}

// PutLocal writes or, with Deleted, deletes a _local document. Like CouchDB since 2.0, it accepts older revisions: the
// new revision is the given one plus one. A deletion has revision "0-0". Deleting a document that does not exist
// returns NotFound.
func (d Database) PutLocal(ctx context.Context, e rev.Edit) (db.Rev, error) {
	if !db.IsLocal(e.ID) {
		return db.Rev{}, fault.Errf(fault.Invalid, "illegal_docid", "the id of a _local document begins with _local/")
	}
	if err := db.ValidateID(e.ID); err != nil {
		return db.Rev{}, err
	}
	if len(e.Body) > StateOf(d.Store).MaxDocument {
		return db.Rev{}, fault.Errf(fault.TooLarge, "document_too_large", "%s", e.ID)
	}
	if len(e.Attachments) > 0 {
		return db.Rev{}, fault.Errf(fault.Invalid, "bad_request", "_local documents have no attachments")
	}
	n, err := NextLocal(&e)
	if err != nil {
		return db.Rev{}, err
	}
	_, _, err = db.Transact(ctx, d.Database, func(t *db.Txn) (struct{}, error) {
		if e.Deleted {
			t.MakesRoom()
		}
		return struct{}{}, putLocal(t, &e, n)
	})
	return LocalRev(n), err
}

var errLocalRev = errors.New("Invalid rev format") //nolint:staticcheck // CouchDB's words

// NextLocal returns the revision number that an edit of a _local document results in. It returns Invalid if the edit's
// revision is not of the form "0-N".
func NextLocal(e *rev.Edit) (int64, error) {
	switch {
	case e.Deleted:
		return 0, nil
	case e.Rev.IsZero():
		return 1, nil
	}
	n, err := strconv.ParseInt(e.Rev.ID, 10, 64)
	if err != nil || e.Rev.Pos != 0 || n < 0 || n+1 < 0 {
		return 0, fault.Errf(fault.Invalid, "bad_request", "%s", errLocalRev)
	}
	return n + 1, nil
}

func putLocal(t *db.Txn, e *rev.Edit, n int64) error {
	prefix := t.Keys.Doc(nil, keyspace.Local, e.ID)
	if e.Deleted {
		rows := db.GetRange(t, prefix, kv.RangeOptions{Limit: 1, Mode: kv.ModeExact})
		defer rows.Close()
		there := rows.Next()
		if err := rows.Err(); err != nil {
			return err
		}
		if !there {
			return fault.Errf(fault.NotFound, "", "missing")
		}
	}
	t.ClearRange(db.PrefixRange(prefix))
	if !e.Deleted {
		WriteLocal(t, e.ID, n, e.Body)
	}
	return nil
}

// WriteLocal stores a _local document. The caller has removed an older one.
func WriteLocal(t *db.Txn, id string, n int64, body []byte) {
	if body == nil {
		body = []byte("{}")
	}
	prefix := t.Keys.Doc(nil, keyspace.Local, id)
	whole := append(tuple.AppendInt(tuple.AppendInt(nil, keyspace.LocalFormat), n), body...)
	for chunk := int64(0); len(whole) > 0; chunk++ {
		size := min(len(whole), keyspace.BodyChunk)
		t.Set(t.Close(tuple.AppendInt(append(t.Open(), prefix...), chunk)), whole[:size])
		whole = whole[size:]
	}
}

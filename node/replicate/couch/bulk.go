package couch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer/jsontext"
)

// Missing is a revision that the target of a replication does not have.
type Missing struct {
	ID, Rev string
	// Ancestors are possible ancestors that it has. Attachments that they have need not be sent.
	Ancestors []string
}

// RevsDiff returns which revisions of documents the database does not have.
func (d *Database) RevsDiff(ctx context.Context, docs []Change) (list []Missing, err error) {
	body := []byte{'{'}
	for i := range docs {
		if i > 0 {
			body = append(body, ',')
		}
		body = jsontext.AppendStrings(append(jsontext.AppendQuoted(body, docs[i].ID), ':'), docs[i].Revs)
	}
	body = append(body, '}')
	c := call{method: http.MethodPost, path: "_revs_diff", body: body}
	err = d.stream(ctx, c, func(r *answer) error {
		list = list[:0]
		text, err := io.ReadAll(io.LimitReader(r.body, maxAnswer))
		if err != nil {
			return err
		}
		if !gjson.ValidBytes(text) {
			return io.ErrUnexpectedEOF
		}
		gjson.ParseBytes(text).ForEach(func(id, v gjson.Result) bool {
			ancestors := texts(v.Get("possible_ancestors"))
			for _, rev := range texts(v.Get("missing")) {
				list = append(list, Missing{id.Str, rev, ancestors})
			}
			return true
		})
		return nil
	})
	return list, err
}

func texts(v gjson.Result) (list []string) {
	v.ForEach(func(_, one gjson.Result) bool {
		list = append(list, one.String())
		return true
	})
	return list
}

// BulkGet reads revisions, with their histories and without the data of attachments. It calls each for the wanted
// revisions in order, with the document, or nil if the server cannot give it. A repeated request continues after the
// last call. Several leaves can descend from a revision; then each is called several times for it. NoBulkGet tells
// whether the documents can be had without it after an error.
func (d *Database) BulkGet(ctx context.Context, wanted []Missing, each func(i int, doc []byte) error) error {
	next := 0
	var busy time.Duration
	var unread error // of each
	query := url.Values{"revs": {"true"}, "latest": {"true"}, "attachments": {"false"}}
	defer d.o.Repeats.Ended(&next)
	// Each attempt asks only for what is still missing, so the request is made anew.
	for tries := 0; ; tries++ {
		before := next
		c := call{method: http.MethodPost, path: "_bulk_get", query: query, body: bulkBody(wanted[next:]), once: true}
		err := d.stream(ctx, c, func(r *answer) error {
			return rowsOf(r.body, "results", func(row []byte) error {
				if next >= len(wanted) {
					return errResults
				}
				i := next
				next++
				return found(row, wanted[i].ID, func(doc []byte) error {
					if unread = each(i, doc); unread != nil {
						return &consumerError{unread}
					}
					return nil
				})
			})
		})
		switch {
		case unread != nil:
			return unread // the answer is not to be continued after what was not taken, even if that may pass
		case err == nil && next == len(wanted):
			return nil
		case err == nil && next > before:
			err = &Error{Method: http.MethodPost, URL: shortURL(d.shown, &c), Err: io.ErrUnexpectedEOF}
		case err == nil:
			err = &Error{Method: http.MethodPost, URL: shortURL(d.shown, &c), Err: errResults}
		}
		var e *Error
		if !errors.As(err, &e) || !e.Transient() || e.Err != nil && NoBulkGet(err) {
			return err
		}
		if next > before || e.Outage {
			tries = 0
		}
		pause := jitter(min(firstWait<<min(tries, 20), maxWait))
		switch {
		case e.Outage:
			tries--
		case e.asksToWait() && busy < maxBusy:
			tries--
			pause = max(pause, min(e.Wait, maxBusy))
			busy += pause
		case tries >= d.o.Retries:
			return err
		}
		d.o.Repeats.Failed(&next, err)
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// errResults is the error of an answer that is whole, but not what was asked for.
var errResults = errors.New("the answer has no list with a result for each document")

// NoBulkGet reports whether BulkGet failed because the server does not answer it as it should, so that other requests
// may still get the documents. It is false if the connection failed, or if the server asks to come later.
func NoBulkGet(err error) bool {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return false
	case e.Status != 0:
		return !e.asksToWait()
	}
	return errors.Is(e.Err, errResults) || errors.Is(e.Err, errRowSize) || errors.As(e.Err, new(*json.SyntaxError))
}

func bulkBody(wanted []Missing) []byte {
	body := []byte(`{"docs":[`)
	for i := range wanted {
		if i > 0 {
			body = append(body, ',')
		}
		body = jsontext.AppendQuoted(append(body, `{"id":`...), wanted[i].ID)
		body = jsontext.AppendQuoted(append(body, `,"rev":`...), wanted[i].Rev)
		body = append(body, '}')
	}
	return append(body, "]}"...)
}

// found calls each for the documents of a row of _bulk_get, or with nil if there is none.
func found(row []byte, id string, each func([]byte) error) error {
	values, err := jsontext.ExactMembers(row, "id", "docs")
	if err != nil || values[1] == nil {
		return each(nil)
	}
	if got, ok := jsontext.Unquote(values[0]); !ok || got != id {
		return each(nil)
	}
	any := false
	gjson.ParseBytes(values[1]).ForEach(func(_, one gjson.Result) bool {
		if ok := one.Get("ok"); ok.IsObject() {
			any = true
			err = each([]byte(ok.Raw))
		}
		return err == nil
	})
	if !any && err == nil {
		err = each(nil)
	}
	return err
}

// rowsOf calls row for each element of a list that is a member of an object, without holding more than one.
func rowsOf(r io.Reader, member string, row func([]byte) error) error {
	in := &bounded{r: r}
	dec := json.NewDecoder(in)
	if t, err := dec.Token(); errors.Is(err, io.EOF) {
		return errResults // it is empty; had the connection failed, that would be ErrUnexpectedEOF
	} else if err != nil || t != json.Delim('{') {
		return cmpErr(err, errResults)
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		if t != member {
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return err
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('[') {
			return cmpErr(err, errResults)
		}
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				return err
			}
			if err := row(raw); err != nil {
				return err
			}
			in.n = 0
		}
		if _, err := dec.Token(); err != nil {
			return err
		}
	}
	_, err := dec.Token()
	return err
}

// Failure is a document that a database has refused.
type Failure struct{ ID, Rev, Name, Reason string }

// ErrTooLarge is returned for a request that is too large for the server.
var ErrTooLarge = errors.New("couch: the request is too large for the target")

// BulkDocs writes replicated documents, and returns those that were refused. It returns ErrTooLarge if there are too
// many at once.
func (d *Database) BulkDocs(ctx context.Context, docs [][]byte) (failed []Failure, err error) {
	size := 32
	for _, doc := range docs {
		size += len(doc) + 1
	}
	body := append(make([]byte, 0, size), `{"new_edits":false,"docs":[`...)
	for i, doc := range docs {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, doc...)
	}
	c := call{method: http.MethodPost, path: "_bulk_docs", body: append(body, "]}"...)}
	err = d.stream(ctx, c, func(r *answer) error {
		failed = failed[:0]
		text, err := io.ReadAll(io.LimitReader(r.body, maxAnswer))
		if err != nil {
			return err
		}
		list := gjson.ParseBytes(text)
		if !gjson.ValidBytes(text) || !list.IsArray() {
			return io.ErrUnexpectedEOF
		}
		list.ForEach(func(_, one gjson.Result) bool {
			if name := one.Get("error"); name.Exists() {
				failed = append(failed, Failure{one.Get("id").String(), one.Get("rev").String(), name.String(),
					short(one.Get("reason").Value())})
			}
			return true
		})
		return nil
	})
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusRequestEntityTooLarge {
		return nil, ErrTooLarge
	}
	return failed, err
}

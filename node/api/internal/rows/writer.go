package rows

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/render"
)

// Taker takes the rows of a query one by one, as JSON texts that are valid during the call. An error ends the query.
type Taker interface {
	// Head comes before the rows: an object with total_rows, offset and update_seq, as far as the query has them.
	Head(text []byte) error
	Row(text []byte) error
}

// rowWriter writes rows into a response, or passes them to a Taker.
type rowWriter struct {
	s       *call.Stream
	to      Taker // nil: the response
	started bool
}

// head writes the members before the rows. Negative numbers are unknown.
func (w *rowWriter) head(total, offset int64, r *rowsQuery, seq layer.Seq) error {
	s := w.s
	s.Buf = appendNumberOrNull(append(s.Buf, `{"total_rows":`...), total)
	s.Buf = appendNumberOrNull(append(s.Buf, `,"offset":`...), offset)
	if r.updateSeq {
		if r.hasKeys {
			s.Buf = append(s.Buf, `,"update_seq":null`...)
		} else {
			s.Buf = append(seq.Append(append(s.Buf, `,"update_seq":"`...)), '"')
		}
	}
	return w.begin(',')
}

// reducedHead writes the members before the rows of a reduction.
func (w *rowWriter) reducedHead(r *rowsQuery, seq layer.Seq) error {
	w.s.Buf = append(w.s.Buf, '{')
	if !r.updateSeq {
		return w.begin(0)
	}
	w.s.Buf = append(seq.Append(append(w.s.Buf, `"update_seq":"`...)), '"')
	return w.begin(',')
}

// begin ends the members before the rows. separator, unless 0, comes before a further member.
func (w *rowWriter) begin(separator byte) error {
	s := w.s
	if w.to != nil {
		return w.pass(w.to.Head, append(s.Buf, '}'))
	}
	if separator != 0 {
		s.Buf = append(s.Buf, separator)
	}
	s.Buf = append(s.Buf, "\"rows\":[\r\n"...)
	return nil
}

// pass gives a text to the Taker.
func (w *rowWriter) pass(to func([]byte) error, text []byte) error {
	w.s.Buf = text[:0]
	return to(text)
}

// next begins a row.
func (w *rowWriter) next() {
	if w.started && w.to == nil {
		w.s.Buf = append(w.s.Buf, ',', '\r', '\n')
	}
	w.started = true
}

// done ends a row.
func (w *rowWriter) done() error {
	if w.to != nil {
		return w.pass(w.to.Row, w.s.Buf)
	}
	return w.s.Row()
}

// end ends the result.
func (w *rowWriter) end() error {
	if w.to != nil {
		return nil
	}
	w.s.Buf = append(w.s.Buf, "\r\n]}"...)
	return w.s.Row()
}

// missing writes the row of a key without a document.
func (w *rowWriter) missing(key string) error {
	w.next()
	w.s.Buf = append(append(w.s.Buf, `{"key":`...), key...)
	w.s.Buf = append(w.s.Buf, `,"error":"not_found"}`...)
	return w.done()
}

// document writes the row of a document.
func (w *rowWriter) document(row *layer.AllDocsRow, r *rowsQuery) error {
	if row.Err != nil {
		if layer.KindOf(row.Err) != layer.NotFound {
			return row.Err
		}
		return w.missing(string(jsontext.AppendQuoted(nil, row.ID)))
	}
	w.next()
	s := w.s
	s.Buf = append(s.Buf, `{"id":`...)
	from := len(s.Buf)
	s.Buf = jsontext.AppendQuoted(s.Buf, row.ID)
	id := s.Buf[from:]
	s.Buf = append(s.Buf, `,"key":`...)
	s.Buf = append(s.Buf, id...)
	s.Buf = encode.Rev(append(s.Buf, `,"value":{"rev":`...), row.Rev)
	if row.Deleted {
		s.Buf = append(s.Buf, `,"deleted":true`...)
	}
	s.Buf = append(s.Buf, '}')
	return w.withDoc(row.Doc, r)
}

// viewRow writes a row of a view.
func (w *rowWriter) viewRow(row *layer.ViewRow, r *rowsQuery) error {
	w.next()
	s := w.s
	s.Buf = jsontext.AppendQuoted(append(s.Buf, `{"id":`...), row.ID)
	s.Buf = append(append(s.Buf, `,"key":`...), row.Key...)
	s.Buf = append(append(s.Buf, `,"value":`...), row.Value...)
	return w.withDoc(row.Doc, r)
}

// withDoc ends a row, with its document if the query asks for documents.
func (w *rowWriter) withDoc(doc *layer.Document, r *rowsQuery) error {
	s := w.s
	if r.includeDocs {
		s.Buf = append(s.Buf, `,"doc":`...)
		if doc == nil {
			s.Buf = append(s.Buf, "null"...)
		} else if r.public != nil {
			s.Buf = appendPublic(s.Buf, doc, r.public)
		} else if err := render.Document(s, doc, &r.render); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, '}')
	return w.done()
}

// appendPublic appends the public members of a document (couch_users_db:strip_non_public_fields).
func appendPublic(dst []byte, doc *layer.Document, public []string) []byte {
	dst = append(dst, '{')
	if slices.Contains(public, "_id") {
		dst = encode.StringMember(dst, "_id", doc.ID)
	}
	gjson.ParseBytes(doc.Body).ForEach(func(name, value gjson.Result) bool {
		if slices.Contains(public, name.Str) {
			dst = append(encode.Member(dst, name.Str), value.Raw...)
		}
		return true
	})
	return append(dst, '}')
}

// reducedRow writes a row of a reduction.
func (w *rowWriter) reducedRow(row *layer.ReduceRow) error {
	w.next()
	s := w.s
	s.Buf = append(append(s.Buf, `{"key":`...), row.Key...)
	if row.Err != nil {
		s.Buf = jsontext.AppendQuoted(append(s.Buf, `,"error":`...), row.Err.Name)
		s.Buf = append(jsontext.AppendQuoted(append(s.Buf, `,"reason":`...), row.Err.Reason), '}')
	} else {
		s.Buf = append(append(append(s.Buf, `,"value":`...), row.Value...), '}')
	}
	return w.done()
}

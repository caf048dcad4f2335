package docs

import (
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/divandb/divan/layer"
	"github.com/divandb/divan/layer/jsontext"
	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// docRevs is one member of the bodies of _revs_diff, _missing_revs and _purge: {"id": ["1-abc", ...]}.
type docRevs struct {
	id   string
	revs []layer.Rev
}

// revsBody is such a body, validated. It is parsed again in each iteration.
type revsBody struct {
	object     gjson.Result
	docs, revs int // how many
	longest    int // revisions of the document with the most
}

// revsWindow is how many documents are looked up together. Once a window has revsAhead revisions, no further document
// is added to it.
const (
	revsWindow = 128
	revsAhead  = 10_000
)

// readRevsBody reads and validates the body. notList is the endpoint's message for a value that is not a list.
func readRevsBody(q *call.Request, notList string) (b revsBody, err error) {
	if err := q.RequireJSON(); err != nil {
		return b, err
	}
	if b.object, err = q.Body.Object(); err != nil {
		return b, err
	}
	b.object.ForEach(func(key, value gjson.Result) bool {
		if !value.IsArray() {
			err = fault.BadRequest("%s", notList)
			return false
		}
		n := 0
		value.ForEach(func(_, rev gjson.Result) bool {
			n++
			_, err = revOf(rev)
			return err == nil
		})
		if err == nil {
			err = q.DB.CheckID(q.Ctx(), key.Str)
		}
		b.longest = max(b.longest, n)
		b.docs++
		b.revs += n
		return err == nil
	})
	return b, err
}

func revOf(v gjson.Result) (layer.Rev, error) {
	if v.Type != gjson.String {
		return layer.Rev{}, fault.BadRequest("Invalid rev format")
	}
	return parseRev(v.Str)
}

// windows calls fn with successive groups of documents, which are valid until fn returns.
func (b *revsBody) windows(fn func([]docRevs) error) (err error) {
	docs := make([]docRevs, 0, min(b.docs, revsWindow))
	revs := 0
	b.object.ForEach(func(key, value gjson.Result) bool {
		d := docRevs{id: key.Str}
		if d.revs, err = parseRevs(value); err != nil {
			return false
		}
		docs = append(docs, d)
		if revs += len(d.revs); len(docs) == revsWindow || revs > revsAhead {
			err = fn(docs)
			docs, revs = docs[:0], 0
		}
		return err == nil
	})
	if err == nil && len(docs) > 0 {
		err = fn(docs)
	}
	return err
}

// diff calls row for each document of which the database lacks a revision, in the requested order.
func diff(q *call.Request, b *revsBody, row func(layer.RevsDiffRow) error) error {
	if err := q.Body.Parts(3 * revCost * int64(min(b.longest+revsAhead, b.revs))); err != nil {
		return err
	}
	return b.windows(func(docs []docRevs) error {
		asks := make([]layer.RevsDiffAsk, len(docs))
		for i, d := range docs {
			asks[i] = layer.RevsDiffAsk{ID: d.id, Revs: d.revs}
		}
		for got, err := range q.DB.RevsDiffs(q.Ctx(), asks) {
			if err != nil {
				return err
			}
			if len(got.Missing) == 0 {
				continue
			}
			if err := row(got); err != nil {
				return err
			}
		}
		return nil
	})
}

// RevsDiff answers POST /{db}/_revs_diff.
func (h *Bulk) RevsDiff(q *call.Request) error {
	body, err := readRevsBody(q, "Invalid revisions, must be a list")
	if err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, '{')
	first := true
	err = diff(q, &body, func(d layer.RevsDiffRow) error {
		s.Separate(&first)
		s.Buf = append(jsontext.AppendQuoted(s.Buf, d.ID), `:{"missing":`...)
		s.Buf = encode.Revs(s.Buf, d.Missing)
		if len(d.PossibleAncestors) > 0 {
			s.Buf = encode.Revs(append(s.Buf, `,"possible_ancestors":`...), d.PossibleAncestors)
		}
		s.Buf = append(s.Buf, '}')
		return s.Full()
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, '}', '\n')
	return s.End()
}

// MissingRevs answers POST /{db}/_missing_revs.
func (h *Bulk) MissingRevs(q *call.Request) error {
	body, err := readRevsBody(q, "Invalid revisions, must be a list")
	if err != nil {
		return err
	}
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, `{"missing_revs":{`...)
	first := true
	err = diff(q, &body, func(d layer.RevsDiffRow) error {
		s.Separate(&first)
		s.Buf = append(jsontext.AppendQuoted(s.Buf, d.ID), ':')
		s.Buf = encode.Revs(s.Buf, d.Missing)
		return s.Full()
	})
	if err != nil {
		return err
	}
	s.Buf = append(s.Buf, "}}\n"...)
	return s.End()
}

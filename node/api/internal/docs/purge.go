package docs

import (
	"net/http"

	"github.com/divandb/divan/node/api/internal/call"
	"github.com/divandb/divan/node/api/internal/encode"
	"github.com/divandb/divan/node/api/internal/fault"
)

// Purge answers POST /{db}/_purge. Each document is purged separately. Errors are shown in place, and the worst one
// determines the status.
func (h *Bulk) Purge(q *call.Request) error {
	body, err := readRevsBody(q, "Invalid list of revisions")
	if err != nil {
		return err
	}
	if err := h.purgeLimits(q, &body); err != nil {
		return err
	}
	status := http.StatusCreated
	b := []byte(`{"purge_seq":null,"purged":{`)
	err = body.windows(func(docs []docRevs) error {
		for _, d := range docs {
			b = encode.Member(b, d.id)
			purged, err := q.DB.Purge(q.Ctx(), d.id, d.revs)
			if err != nil {
				f := fault.Of(err)
				status = max(status, f.Status)
				b = append(f.Append(append(b, '{')), '}')
				continue
			}
			b = encode.Revs(b, purged)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return q.SendJSON(status, append(b, "}}"...))
}

// purgeLimits applies CouchDB's limits, with its settings' names.
func (h *Bulk) purgeLimits(q *call.Request, b *revsBody) error {
	if b.docs > h.Docs.Settings.Int("purge", "max_document_id_number", 100) {
		return fault.BadRequest("Exceeded maximum number of documents.")
	}
	if b.revs > h.Docs.Settings.Int("purge", "max_revisions_number", 1000) {
		return fault.BadRequest("Exceeded maximum number of revisions.")
	}
	return nil
}

// PurgedInfos answers GET /{db}/_purged_infos: the purges that the database remembers, oldest first.
func (h *Bulk) PurgedInfos(q *call.Request) error {
	s := q.Stream(http.StatusOK)
	defer s.Drop()
	s.Buf = append(s.Buf, `{"purged_infos":[`...)
	first := true
	for info, err := range q.DB.Purges(q.Ctx()) {
		if err != nil {
			return err
		}
		s.Separate(&first)
		s.Buf = encode.StringMember(append(s.Buf, '{'), "id", info.ID)
		s.Buf = append(encode.Revs(encode.Member(s.Buf, "revs"), info.Revs), '}')
		if err := s.Row(); err != nil {
			return err
		}
	}
	s.Buf = append(s.Buf, "]}\n"...)
	return s.End()
}
